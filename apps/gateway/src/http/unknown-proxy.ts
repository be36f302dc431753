import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Networks in which a proxy of one's own stands, and from which no stranger comes. */
const INNER_NETWORKS = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);

/**
 * Whether the request came by a proxy in a network of one's own that is not trusted. Behind one that is, `ips` holds more than
 * the connection.
 */
export function isByUnknownProxy({ headers, ip, ips = [ip] }: Pick<FastifyRequest, 'headers' | 'ip' | 'ips'>): boolean {
  if (headers['x-forwarded-for'] === undefined || ips.length > 1 || !ipaddr.isValid(ip)) return false;
  return INNER_NETWORKS.has(ipaddr.process(ip).range());
}
