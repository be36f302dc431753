import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { appError } from '#errors';
import { OVERRIDE_PATH } from '../http/method-override.js';
import { clientNetworkOf } from './client-network.js';
import type { RateLimitGroup } from './rate-limit.js';
import { type Allowance, RateLimiter } from './rate-limiter.js';

/**
 * Limits requests between their credentials and their body. The matched route says in which groups one counts, so that
 * escaped URLs, method override and batches lead round nothing.
 */
export function addRateLimits(app: NestFastifyApplication): void {
  const limiter = app.get(RateLimiter);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request, reply) => {
      // Servers with the master key act for many people from one address.
      if (request.caller === undefined || request.caller.isMaster) return;
      const client = { appId: request.caller.appId, network: clientNetworkOf(request.clientAddress) };
      const allowance = await limiter.count(groupsOf(request), client);
      if (allowance === undefined) return;
      tell(reply, allowance);
      if (allowance.isExceeded) throw appError('TOO_MANY_REQUESTS', { retryAfterSeconds: allowance.resetSeconds });
    });
}

function groupsOf({ routeOptions }: FastifyRequest): RateLimitGroup[] {
  // It counts as the request that it stands for, when that comes by.
  if (routeOptions.url === OVERRIDE_PATH) return [];
  return ['requests', ...(routeOptions.config.rateLimitGroups ?? [])];
}

/** The headers of draft-ietf-httpapi-ratelimit-headers, in the form that they had up to its version 06. */
function tell(reply: FastifyReply, { limit, remaining, resetSeconds }: Allowance): void {
  void reply.headers({
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  });
}
