import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { JsonValue } from '#contracts';
import { AppError, appError } from '#errors';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { asJsonObject } from '../http/json-body.js';
import { dispatch, originsOf } from '../http/sub-request.js';
import { BatchAnswer } from './batch-answer.js';
import { requestsOf } from './batch-body.js';
import { parseEntry } from './batch-entry.js';

const MAX_ENTRIES = 100;

/** Runs the requests of a batch as if each had been sent alone. */
@Injectable()
export class BatchService {
  constructor(@Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'batchTimeoutMs'>) {}

  /**
   * Runs the requests one after the other, until the client is gone or the time of the batch is over. A request that is under way then may
   * yet be done; those behind it are not run.
   * @returns the answer as JSON: a list of `{success}` or `{error}`, in the order of the requests
   * @throws AppError MALFORMED_JSON where the body is no batch
   */
  async run(request: FastifyRequest): Promise<string> {
    const answer = new BatchAnswer();
    const endsAt = performance.now() + this.config.batchTimeoutMs;
    let isOver = false;
    for (const entry of requestsOf(asJsonObject(request.body), MAX_ENTRIES)) {
      if (isClientGone(request)) break;
      const leftMs: number = isOver ? 0 : Math.ceil(endsAt - performance.now());
      if (leftMs > 0) isOver = !(await this.#runEntry(request, entry, answer, leftMs));
      else answer.addError(appError('BATCH_NOT_RUN'));
    }
    return answer.toString();
  }

  /** @returns whether it was answered in time */
  async #runEntry(request: FastifyRequest, entry: JsonValue, answer: BatchAnswer, leftMs: number): Promise<boolean> {
    try {
      const subRequest = parseEntry(entry);
      const response = await within(leftMs, dispatch(request, subRequest));
      if (response === undefined) answer.addError(appError('BATCH_OUTCOME_UNKNOWN'));
      else answer.add(subRequest.method, response);
      return response !== undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      answer.addError(error);
      return true;
    }
  }
}

/** @returns undefined where the time is over first; the work goes on */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function isClientGone(request: FastifyRequest): boolean {
  const sentByClient = originsOf(request).at(-1) ?? request;
  return sentByClient.raw.socket.destroyed;
}
