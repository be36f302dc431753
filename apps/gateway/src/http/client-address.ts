import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * The address that a request came from, as far as it can be believed: the connection's, or, where that belongs to a trusted
 * proxy, the one that the proxy names. `ips` begins at our end and stops at the first that is no proxy of ours; a proxy that
 * names no address counts as the client itself.
 */
export function clientAddressOf({ ip, ips = [ip] }: Pick<FastifyRequest, 'ip' | 'ips'>): string {
  return ips.findLast((address) => isIP(address) !== 0) ?? '';
}
