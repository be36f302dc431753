import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SignJWT } from 'jose';
import { ApplicationDirectory } from '#admission';
import { accountsRpc, type Application, type Caller, type Principal } from '#contracts';
import { type AppError, appError } from '#errors';
import { RpcClient } from '#messaging';
import { ANONYMOUS } from '#objects';
import { OutboundStreamError, OutboundStreams, type StreamedAnswer } from '#outbound';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { originsOf } from '../http/sub-request.js';
import {
  hasBeenForwarded,
  hasBody,
  headersForClient,
  headersForTarget,
  isForwarded,
  isForwardedSave,
  sendBuffered,
} from './forward-policy.js';

const IDENTITY_LIFETIME = '60s';
/** Role names in an identity, in bytes: servers accept few KiB of headers. */
const MAX_ROLE_BYTES = 4_096;
/** Connections to the server of one application. A cloud function can hold one for as long as it runs. */
const MAX_CONNECTIONS = 256;
const NO_BODY = new Set([204, 304]);
/** HTTP defines no greater status (RFC 9110, 15), but the parser of Node.js accepts them. */
const MAX_STATUS = 599;
const utf8 = new TextEncoder();

declare module 'fastify' {
  interface FastifyRequest {
    isForwarded?: boolean;
  }
}

/** Forwards the requests that no route serves. Register it after the checks of credentials and limits, before the body is read. */
export function addForwarding(app: NestFastifyApplication): void {
  const forwarder = app.get(Forwarder);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, reply, done) => {
      const { caller } = request;
      if (!request.is404 || caller === undefined) {
        done();
        return;
      }
      const finish = (isDone: boolean) => {
        if (!isDone) done();
      };
      forwarder.forward(request, reply, caller).then(finish, done);
    });
}

/** Passes requests on to the servers of applications (setting forwardUrl), and their answers back, both as streams. */
@Injectable()
export class Forwarder implements OnApplicationShutdown {
  readonly #streams: OutboundStreams;
  readonly #maxBodyBytes: number;
  readonly #ownOrigin: string;

  constructor(
    @Inject(GATEWAY_CONFIG) { forwarding, baseUrl }: Pick<GatewayConfig, 'forwarding' | 'baseUrl'>,
    private readonly applications: ApplicationDirectory,
    private readonly rpc: RpcClient,
  ) {
    const { maxBodyBytes } = forwarding;
    this.#streams = new OutboundStreams({
      ...forwarding,
      maxAnswerBytes: maxBodyBytes,
      maxConnections: MAX_CONNECTIONS,
    });
    this.#maxBodyBytes = maxBodyBytes;
    this.#ownOrigin = new URL(baseUrl).origin;
  }

  /** For a request without a route, whose body is unread. @returns false where nothing is forwarded @throws AppError FORWARD_LOOP, FORWARD_FAILED, FORWARD_TIMED_OUT, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE */
  forward(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<boolean> {
    const fits = (paths: readonly string[]) => isForwarded(request, paths);
    return this.#forward(request, reply, { caller, fits, outgoing: streamed });
  }

  /** As `forward`, for a joint save, whose body has been read. */
  forwardSave(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<boolean> {
    const fits = (paths: readonly string[]) => isForwardedSave(request.body, paths);
    return this.#forward(request, reply, { caller, fits, outgoing: written });
  }

  async #forward(request: FastifyRequest, reply: FastifyReply, { caller, fits, outgoing }: Way): Promise<boolean> {
    const application = await this.applications.find(caller.appId);
    const { forwardUrl, forwardPaths } = application?.settings ?? { forwardUrl: '', forwardPaths: [] };
    if (application === null || forwardUrl === '' || !fits(forwardPaths)) return false;
    request.isForwarded = true;
    const target = new URL(forwardUrl);
    if (hasBeenForwarded(request.headers) || target.origin === this.#ownOrigin) throw appError('FORWARD_LOOP');
    if (Number(request.headers['content-length'] ?? 0) > this.#maxBodyBytes) throw appError('PAYLOAD_TOO_LARGE');
    const identity = await this.#identityOf(application, caller);
    await this.#pass(request, reply, { target, identity, outgoing });
    return true;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#streams.close();
  }

  async #pass(
    request: FastifyRequest,
    reply: FastifyReply,
    { target, identity, outgoing }: { target: URL; identity: string | undefined; outgoing: Way['outgoing'] },
  ): Promise<void> {
    const { method, url, id: requestId, clientAddress } = request;
    const isReadHere = originsOf(request).length > 0;
    const body = new ClientBody(request.raw, this.#maxBodyBytes);
    const { headers, content } = outgoing(request, body);
    const exchange = new Exchange(request);
    reply.raw.once('close', () => {
      body.discard();
    });
    try {
      const answer = await this.#streams.send(target.origin, {
        method,
        path: `${target.pathname.replace(/\/+$/, '')}${url}`,
        headers: headersForTarget(headers, { requestId, clientAddress, identity, isReadHere }),
        body: content,
        signal: exchange.signal,
      });
      answer.body.once('close', () => {
        exchange.end();
      });
      await sendAnswer(request, reply, answer);
    } catch (error) {
      exchange.end();
      if (body.isTooLarge) throw appError('PAYLOAD_TOO_LARGE');
      // A client that is gone reads no response, and is no failure of the target.
      throw exchange.signal.aborted ? appError('SERVICE_UNAVAILABLE') : asAppError(error);
    }
  }

  async #identityOf({ id, forwardSecret }: Application, caller: Caller): Promise<string | undefined> {
    if (forwardSecret === undefined) return undefined;
    const { userId, roles } = await this.#principalOf(caller);
    const shown = rolesThatFit(roles);
    const token = new SignJWT({
      master: caller.isMaster,
      roles: shown,
      ...(shown.length < roles.length && { rolesCut: true }),
      ...(userId !== undefined && { sub: userId }),
    });
    return token
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer('gatepost')
      .setAudience(id)
      .setIssuedAt()
      .setExpirationTime(IDENTITY_LIFETIME)
      .sign(utf8.encode(forwardSecret));
  }

  async #principalOf(caller: Caller): Promise<Principal> {
    if (caller.sessionToken === undefined) return ANONYMOUS;
    return (await this.rpc.call(accountsRpc.resolvePrincipal, { caller })).principal;
  }
}

interface Way {
  readonly caller: Caller;
  readonly fits: (paths: readonly string[]) => boolean;
  readonly outgoing: (request: FastifyRequest, body: ClientBody) => Outgoing;
}

interface Outgoing {
  readonly headers: IncomingHttpHeaders;
  readonly content: AsyncIterable<Uint8Array> | undefined;
}

function streamed({ headers }: FastifyRequest, body: ClientBody): Outgoing {
  return { headers, content: hasBody(headers) ? body.read() : undefined };
}

/** Written anew, so that both servers read the same objects: of two members of one name, each could take another. */
function written({ headers: given, body }: FastifyRequest): Outgoing {
  const { 'transfer-encoding': _, 'content-md5': __, digest: ___, ...others } = given;
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = { ...others, 'content-type': 'application/json', 'content-length': String(bytes.length) };
  return { headers, content: Readable.from([bytes]) };
}

function rolesThatFit(roles: readonly string[]): string[] {
  let left = MAX_ROLE_BYTES;
  return [...roles].sort().filter((role) => {
    left -= utf8.encode(role).length + 3;
    return left >= 0;
  });
}

class ClientBody {
  isTooLarge = false;
  readonly #raw: FastifyRequest['raw'];
  readonly #maxBytes: number;

  constructor(raw: FastifyRequest['raw'], maxBytes: number) {
    this.#raw = raw;
    this.#maxBytes = maxBytes;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    let left = this.#maxBytes;
    // Destroying the request would close the connection before its response.
    for await (const chunk of this.#raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      left -= chunk.length;
      this.isTooLarge = left < 0;
      if (this.isTooLarge) throw appError('PAYLOAD_TOO_LARGE');
      yield chunk;
    }
  }

  /** Reads the rest, which the target did not take, so that the connection can serve the next request. */
  discard(): void {
    if (!this.#raw.readableEnded) this.#raw.resume();
  }
}

/** Ends with the connection of the client that sent the request, or the batch that contains it. */
class Exchange {
  readonly #controller = new AbortController();
  readonly #socket: FastifyRequest['raw']['socket'];
  readonly #abort = () => {
    this.#controller.abort();
  };

  constructor(request: FastifyRequest) {
    this.#socket = (originsOf(request).at(-1) ?? request).raw.socket;
    if (this.#socket.destroyed) this.#abort();
    else this.#socket.once('close', this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#socket.off('close', this.#abort);
  }
}

/** An answer that cannot be sent ends here: unread, it would occupy a connection of the target. */
async function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: StreamedAnswer): Promise<void> {
  const { status, body } = answer;
  try {
    if (status > MAX_STATUS) throw new OutboundStreamError('unusable', `status ${status}`);
    if (originsOf(request).length > 0) await sendBuffered(request, reply, answer);
    else sendStream(request, reply, answer);
  } catch (error) {
    body.on('error', () => undefined).destroy();
    throw error;
  }
}

function sendStream(request: FastifyRequest, reply: FastifyReply, { status, headers, body }: StreamedAnswer): void {
  const forClient = headersForClient(headers);
  if (forClient['cache-control'] !== undefined) void reply.removeHeader('pragma');
  void reply.code(status).headers(forClient);
  if (request.method === 'HEAD' || NO_BODY.has(status)) {
    body.resume();
    void reply.send();
  } else void reply.send(body);
}

function asAppError(error: unknown): unknown {
  return error instanceof OutboundStreamError ? failureOf(error) : error;
}

/** Its cause is logged: a code, without the URL and the body. */
function failureOf(error: OutboundStreamError): AppError {
  const cause = new Error(error.message);
  if (error.failure === 'timeout') return appError('FORWARD_TIMED_OUT', { cause });
  if (error.failure === 'unusable') return appError('FORWARD_FAILED', { cause });
  const message =
    error.failure === 'busy'
      ? 'The server that the request is forwarded to has too many requests in progress. Try again.'
      : 'The server that the request is forwarded to cannot be reached, or closed the connection. Try again.';
  return appError('SERVICE_UNAVAILABLE', { message, cause });
}
