import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientNetworkOf } from '#admission';
import { appError } from '#errors';
import type { RateLimitGroup } from './rate-limit.js';
import { type Allowance, RateLimiter } from './rate-limiter.js';

/** Counts what clients send, tells them what is left, and refuses what is too much. */
@Injectable()
export class RequestLimits {
  constructor(private readonly limiter: RateLimiter) {}

  /**
   * Counts a request, or a part of one, in `requests` and in the given groups. One that names no application counts only where
   * its route names groups, and for all applications together.
   * @throws AppError TOO_MANY_REQUESTS
   */
  async count(
    { caller, clientAddress }: FastifyRequest,
    reply: FastifyReply,
    groups?: readonly RateLimitGroup[],
  ): Promise<void> {
    // Servers with the master key act for many people from one address.
    if (caller === undefined ? groups === undefined : caller.isMaster) return;
    const client = { appId: caller?.appId ?? '', network: clientNetworkOf(clientAddress) };
    const allowance = await this.limiter.count(['requests', ...(groups ?? [])], client);
    if (allowance === undefined) return;
    tell(reply, allowance);
    if (allowance.isExceeded) throw appError('TOO_MANY_REQUESTS', { retryAfterSeconds: allowance.resetSeconds });
  }
}

/** The headers of draft-ietf-httpapi-ratelimit-headers, in the form that they had up to its version 06. */
function tell(reply: FastifyReply, { limit, remaining, resetSeconds }: Allowance): void {
  void reply.headers({
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  });
}
