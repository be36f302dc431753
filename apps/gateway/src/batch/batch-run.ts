import type { FastifyRequest } from 'fastify';
import type { Response } from 'light-my-request';
import { asJsonObject } from '#bootstrap';
import type { JsonValue } from '#contracts';
import { AppError, appError, withTimeout } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import { isJsonObject } from '#objects';
import { errorBody } from '../http/error.filter.js';
import { dispatch, methodOf, originsOf, type SubRequest } from '../http/sub-request.js';
import { malformed, requestsOf } from './batch-save.js';

/** A path of the API. Without tabs, line breaks and backslashes: URL parsers remove the first two, and treat the last as a slash. */
const API_PATH = /^\/1\.1\/[^\s\\]*$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;
/** Rule of the API. */
export const MAX_BATCH_REQUESTS = 100;

/** In order, until the client disconnects or time is up; the request that runs then may complete. @returns JSON @throws AppError MALFORMED_JSON */
export async function runBatch(request: FastifyRequest, timeoutMs: number): Promise<string> {
  const batchResponse = new BatchResponse();
  const endsAt = performance.now() + timeoutMs;
  let isOver = false;
  for (const entry of requestsOf(asJsonObject(request.body), MAX_BATCH_REQUESTS)) {
    if (isClientGone(request)) break;
    const leftMs: number = isOver ? 0 : Math.ceil(endsAt - performance.now());
    if (leftMs > 0) isOver = !(await runEntry(request, entry, batchResponse, leftMs));
    else batchResponse.addError(appError('BATCH_NOT_RUN'));
  }
  return batchResponse.toString();
}

async function runEntry(
  request: FastifyRequest,
  entry: JsonValue,
  batchResponse: BatchResponse,
  leftMs: number,
): Promise<boolean> {
  try {
    const subRequest = parseEntry(entry);
    const response = await withTimeout(dispatch(request, subRequest), leftMs);
    if (response === undefined) batchResponse.addError(appError('BATCH_OUTCOME_UNKNOWN'));
    else batchResponse.add(subRequest.method, response);
    return response !== undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    batchResponse.addError(error);
    return true;
  }
}

function isClientGone(request: FastifyRequest): boolean {
  const sentByClient = originsOf(request).at(-1) ?? request;
  return sentByClient.raw.socket.destroyed;
}

function parseEntry(entry: JsonValue): SubRequest {
  if (!isJsonObject(entry)) throw malformed('A request of a batch must be an object.');
  const { path } = entry;
  const method = methodOf(entry['method']);
  const params = entry['params'] ?? {};
  if (method === undefined) throw malformed('The method of a request must be GET, POST, PUT or DELETE.');
  if (!isApiPath(path)) throw malformed('The path of a request must be a path below /1.1/.');
  if (!isJsonObject(params)) throw malformed('The params of a request must be an object.');
  return { method, url: path, params, body: entry['body'] ?? {} };
}

function isApiPath(path: JsonValue | undefined): path is string {
  if (typeof path !== 'string' || path.includes('#')) return false;
  const [pathname = ''] = path.split('?', 1);
  return API_PATH.test(pathname) && !DOT_SEGMENT.test(pathname);
}

export class BatchResponse {
  readonly #entries: string[] = [];
  #bytes = 0;

  add(method: string, response: Response): void {
    if (response.statusCode >= 400) this.#addCounted('error', response.payload);
    else this.#addCounted('success', successText(method, response));
  }

  addError(error: AppError): void {
    this.#entries.push(`{"error":${JSON.stringify(errorBody(error))}}`);
  }

  toString(): string {
    return `[${this.#entries.join(',')}]`;
  }

  #addCounted(outcome: 'success' | 'error', text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > MAX_MESSAGE_BYTES) {
      this.addError(appError('OBJECT_TOO_LARGE', { message: 'The responses of the batch are too large in total.' }));
      return;
    }
    this.#bytes += bytes;
    this.#entries.push(`{"${outcome}":${text}}`);
  }
}

/** SDKs expect `null` for a missing object within a batch, and `{}` otherwise. */
function successText(method: string, { headers, payload }: Response): string {
  if (!String(headers['content-type']).startsWith('application/json')) return JSON.stringify(payload);
  return method === 'GET' && payload === '{}' ? 'null' : payload;
}
