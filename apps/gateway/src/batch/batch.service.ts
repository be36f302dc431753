import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { JsonValue } from '#contracts';
import { AppError } from '#errors';
import { asJsonObject } from '../http/json-body.js';
import { dispatch, originsOf } from '../http/sub-request.js';
import { BatchAnswer } from './batch-answer.js';
import { requestsOf } from './batch-body.js';
import { parseEntry } from './batch-entry.js';

const MAX_ENTRIES = 100;

/** Runs the requests of a batch as if each had been sent alone. */
@Injectable()
export class BatchService {
  /**
   * Runs the requests one after the other, until the client is gone.
   * @returns the answer as JSON: a list of `{success}` or `{error}`, in the order of the requests
   * @throws AppError MALFORMED_JSON where the body is no batch
   */
  async run(request: FastifyRequest): Promise<string> {
    const answer = new BatchAnswer();
    for (const entry of requestsOf(asJsonObject(request.body), MAX_ENTRIES)) {
      if (isClientGone(request)) break;
      await this.#runEntry(request, entry, answer);
    }
    return answer.toString();
  }

  async #runEntry(request: FastifyRequest, entry: JsonValue, answer: BatchAnswer): Promise<void> {
    try {
      const subRequest = parseEntry(entry);
      answer.add(subRequest.method, await dispatch(request, subRequest));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      answer.addError(error);
    }
  }
}

function isClientGone(request: FastifyRequest): boolean {
  const sentByClient = originsOf(request).at(-1) ?? request;
  return sentByClient.raw.socket.destroyed;
}
