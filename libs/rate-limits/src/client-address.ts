import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where a request came from, as the HTTP server says. */
export interface RequestOrigin {
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
