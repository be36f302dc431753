import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Response } from 'light-my-request';
import {
  authLinkingRpc,
  type Caller,
  installationsRpc,
  type JsonObject,
  type JsonValue,
  objectsRpc,
  type ObjectWrite,
} from '#contracts';
import { AppError, appError } from '#errors';
import { MAX_MESSAGE_BYTES, RpcClient } from '#messaging';
import { hasAuthData } from '../accounts/user.schemas.js';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { errorBody } from '../http/error.filter.js';
import { asJsonObject } from '../http/json-body.js';
import { dispatch, isMethod, originsOf, type SubRequest } from '../http/sub-request.js';
import { Principals } from '../push/principals.js';
import { RequestLimits } from '../rate-limits/request-limits.js';
import { isObject, malformed, type ParsedWrite, requestsOf } from './batch-save.js';

/** A path of the API. Without tabs, line breaks and backslashes: URL parsers remove the first two, and treat the last as a slash. */
const API_PATH = /^\/1\.1\/[^\s\\]*$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;
const MAX_ENTRIES = 100;

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** Runs the requests of a batch one by one, and saves the objects of a batch save in one transaction. */
@Injectable()
export class BatchService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly principals: Principals,
    private readonly limits: RequestLimits,
    @Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'batchTimeoutMs'>,
  ) {}

  /**
   * Runs the requests one after the other, until the client disconnects or the batch times out. The request that runs at that
   * time may still complete; the following requests are not run.
   * @returns the response as JSON: a list of `{success}` or `{error}`, in the order of the requests
   * @throws AppError MALFORMED_JSON where the body is no batch
   */
  async run(request: FastifyRequest): Promise<string> {
    const batchResponse = new BatchResponse();
    const endsAt = performance.now() + this.config.batchTimeoutMs;
    let isOver = false;
    for (const entry of requestsOf(asJsonObject(request.body), MAX_ENTRIES)) {
      if (isClientGone(request)) break;
      const leftMs: number = isOver ? 0 : Math.ceil(endsAt - performance.now());
      if (leftMs > 0) isOver = !(await this.#runEntry(request, entry, batchResponse, leftMs));
      else batchResponse.addError(appError('BATCH_NOT_RUN'));
    }
    return batchResponse.toString();
  }

  /** Counts each write of a batch save like a single request. @throws AppError TOO_MANY_REQUESTS */
  async countWrites(request: FastifyRequest, reply: FastifyReply, writes: readonly ParsedWrite[]): Promise<void> {
    for (const { className, objectId } of writes) {
      const isSignUp = className === '_User' && objectId === undefined;
      await this.limits.count(request, reply, isSignUp ? ['signUps'] : []);
    }
  }

  /** @throws AppError NOT_SUPPORTED where the writes belong to several services; else the error of the first write that fails */
  save(caller: Caller, writes: readonly ParsedWrite[]): Promise<SavedObject[]> {
    const objects = writes.filter(isStoredByAccounts);
    if (objects.length === writes.length) return this.#saveObjects(caller, objects);
    if (objects.length === 0) return this.#saveInstallations(caller, writes);
    throw appError('NOT_SUPPORTED', {
      message: 'A batch save cannot contain installations together with other objects.',
    });
  }

  /** @returns whether the response came in time */
  async #runEntry(
    request: FastifyRequest,
    entry: JsonValue,
    batchResponse: BatchResponse,
    leftMs: number,
  ): Promise<boolean> {
    try {
      const subRequest = parseEntry(entry);
      const response = await within(leftMs, dispatch(request, subRequest));
      if (response === undefined) batchResponse.addError(appError('BATCH_OUTCOME_UNKNOWN'));
      else batchResponse.add(subRequest.method, response);
      return response !== undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      batchResponse.addError(error);
      return true;
    }
  }

  async #saveObjects(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    const isProofNeeded = writes.some(({ className, fields }) => className === '_User' && hasAuthData(fields));
    const contract = isProofNeeded ? authLinkingRpc.saveAll : objectsRpc.saveAll;
    return (await this.rpc.call(contract, { caller, writes })).results;
  }

  async #saveInstallations(caller: Caller, parsed: readonly ParsedWrite[]): Promise<SavedObject[]> {
    if (parsed.some(({ children }) => children.length > 0))
      throw appError('NOT_SUPPORTED', {
        message: 'In a batch save, an installation cannot reference another object of the same batch.',
      });
    const writes = parsed.map(({ className: _, children: __, ...write }) => write);
    const request = { caller, principal: await this.principals.of(caller), writes };
    return (await this.rpc.call(installationsRpc.saveAll, request)).results;
  }
}

/** @returns undefined after a timeout; the work continues */
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

function isStoredByAccounts(write: ParsedWrite): write is ObjectWrite {
  return write.className !== '_Installation';
}

/** @throws AppError MALFORMED_JSON where the entry describes no request of this API */
function parseEntry(entry: JsonValue): SubRequest {
  if (!isObject(entry)) throw malformed('A request of a batch must be an object.');
  const { method, path } = entry;
  const params = entry['params'] ?? {};
  if (!isMethod(method)) throw malformed('The method of a request must be GET, POST, PUT or DELETE.');
  if (!isApiPath(path)) throw malformed('The path of a request must be a path below /1.1/.');
  if (!isObject(params)) throw malformed('The params of a request must be an object.');
  return { method, url: path, params, body: entry['body'] ?? {} };
}

function isApiPath(path: JsonValue | undefined): path is string {
  if (typeof path !== 'string' || path.includes('#')) return false;
  const [pathname = ''] = path.split('?', 1);
  return API_PATH.test(pathname) && !DOT_SEGMENT.test(pathname);
}

/** The response to a batch, joined from the JSON texts of the single responses without parsing them. */
export class BatchResponse {
  readonly #entries: string[] = [];
  #bytes = 0;

  add(method: string, response: Response): void {
    if (response.statusCode >= 400) this.#entries.push(`{"error":${response.payload}}`);
    else this.#addSuccess(successText(method, response));
  }

  addError(error: AppError): void {
    this.#entries.push(`{"error":${JSON.stringify(errorBody(error))}}`);
  }

  toString(): string {
    return `[${this.#entries.join(',')}]`;
  }

  #addSuccess(text: string): void {
    const bytes = Buffer.byteLength(text);
    // The limit of a response is the same as for any other request.
    if (this.#bytes + bytes > MAX_MESSAGE_BYTES) {
      this.addError(appError('OBJECT_TOO_LARGE', { message: 'The responses of the batch are too large in total.' }));
      return;
    }
    this.#bytes += bytes;
    this.#entries.push(`{"success":${text}}`);
  }
}

/** SDKs expect `null` for a missing object within a batch, and `{}` otherwise. */
function successText(method: string, { headers, payload }: Response): string {
  if (!String(headers['content-type']).startsWith('application/json')) return JSON.stringify(payload);
  return method === 'GET' && payload === '{}' ? 'null' : payload;
}
