import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { OVERRIDE_PATH } from '../http/method-override.js';
import { RequestLimits } from './request-limits.js';

/**
 * Limits requests between their credentials and their body. The matched route says in which groups one counts, so that
 * escaped URLs, method override and batches lead round nothing.
 */
export function addRateLimits(app: NestFastifyApplication): void {
  const limits = app.get(RequestLimits);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request, reply) => {
      const { url, config } = request.routeOptions;
      // An overridden request counts as the one that it stands for, when that comes by.
      if (url !== OVERRIDE_PATH) await limits.count(request, reply, config.rateLimitGroups);
    });
}
