import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequestLimits } from '../rate-limits/request-limits.js';
import type { ParsedWrite } from './batch-save.js';

/** Limits the writes of POST /1.1/batch/save, which pass no route of their own. */
@Injectable()
export class WriteLimits {
  constructor(private readonly limits: RequestLimits) {}

  /** Counts each write as the request that it would be alone. @throws AppError TOO_MANY_REQUESTS */
  async count(request: FastifyRequest, reply: FastifyReply, writes: readonly ParsedWrite[]): Promise<void> {
    for (const { className, objectId } of writes) {
      const isSignUp = className === '_User' && objectId === undefined;
      await this.limits.count(request, reply, isSignUp ? ['signUps'] : []);
    }
  }
}
