import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ProcessFacts } from '#observability';
import { isByUnknownProxy } from './unknown-proxy.js';

/**
 * Says once that requests come by a proxy which is not trusted: all clients behind it would share the limits of one. Whoever
 * comes from elsewhere with the header is no proxy, and is not believed in silence.
 */
export function warnOfUnknownProxy(app: NestFastifyApplication): void {
  const logger = new Logger('Proxy');
  let isTold = false;
  app.get(ProcessFacts).setting('hasUnknownProxy', () => isTold);
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
