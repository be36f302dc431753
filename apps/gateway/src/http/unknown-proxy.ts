import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Networks in which a proxy of one's own stands, and from which no stranger comes. */
const INNER_NETWORKS = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);

/**
 * Says once that requests come by a proxy which is not trusted: all clients behind it would share the limits of one. Whoever
 * comes from elsewhere with the header is no proxy, and is not believed in silence.
 */
export function warnOfUnknownProxy(app: NestFastifyApplication): void {
  const logger = new Logger('Proxy');
  let isTold = false;
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, _reply, done) => {
      if (!isTold && isByUnknownProxy(request)) {
        isTold = true;
        logger.warn(
          'A proxy in your network sends X-Forwarded-For, but GATEPOST_TRUSTED_PROXIES does not name it: all its clients count as one address.',
        );
      }
      done();
    });
}

/** `ips` holds more than the connection where that is a trusted proxy's. */
export function isByUnknownProxy({ headers, ip, ips = [ip] }: Pick<FastifyRequest, 'headers' | 'ip' | 'ips'>): boolean {
  if (headers['x-forwarded-for'] === undefined || ips.length > 1 || !ipaddr.isValid(ip)) return false;
  return INNER_NETWORKS.has(ipaddr.process(ip).range());
}
