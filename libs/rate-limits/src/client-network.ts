import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

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
