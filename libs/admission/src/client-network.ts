import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where a request came from, as the HTTP server says. */
interface RequestOrigin {
  readonly ip: string;
  /** With trusted proxies. */
  readonly ips?: readonly string[] | undefined;
}

/**
 * The address that a request came from, as far as it can be believed: the connection's, or, where that belongs to a trusted
 * proxy, the one that the proxy names. `ips` begins at our end and ends at the first that is no proxy of ours; where that is
 * no address, the proxy itself counts as the client. Empty where the connection is gone.
 */
export function clientAddressOf({ ip, ips = [ip] }: RequestOrigin): string {
  const address = ips.findLast((each) => isIPv4(each) || ipaddr.isValid(each));
  if (address === undefined || isIPv4(address)) return address ?? '';
  return ipaddr.process(address).toString();
}

/** What counts as one client: an IPv4 address, or the 64 bits of an IPv6 network, in which anyone has all addresses. */
export function clientNetworkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
