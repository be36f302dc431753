import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The origin of a request, as the HTTP server reports it. */
interface RequestOrigin {
  readonly ip: string;
  /** Set where the server trusts proxies. */
  readonly ips?: readonly string[] | undefined;
}

/**
 * The client address that can be trusted: the address of the connection or, where that belongs to a trusted proxy, the one that the proxy
 * names. `ips` starts at this server and ends at the first address that is not a trusted proxy; where that entry is not an address, the
 * proxy itself counts as the client. Empty where the connection has ended.
 */
export function clientAddressOf({ ip, ips = [ip] }: RequestOrigin): string {
  const address = ips.findLast((each) => isIPv4(each) || ipaddr.isValid(each));
  if (address === undefined || isIPv4(address)) return address ?? '';
  return ipaddr.process(address).toString();
}

/**
 * The unit that counts as one client: an IPv4 address, or an IPv6 /64 network, because one client can use all addresses of such a network.
 */
export function clientNetworkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
