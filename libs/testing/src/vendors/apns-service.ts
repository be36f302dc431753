import { generateKeyPairSync } from 'node:crypto';
import http2, {
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { Json } from '../api-client.js';
import type { Certificate } from '../self-signed-certificate.js';

const PUSH_TYPES = new Set(['alert', 'background', 'voip', 'complication', 'fileprovider', 'mdm']);
const MAX_BYTES = 4_096;
const MAX_COLLAPSE_ID = 64;
const TOKEN_LIFE_SECONDS = 3_600;
const STREAMS = 1_000;

/** A push that Apple has accepted. */
export interface ApnsDelivery {
  readonly token: string;
  readonly headers: IncomingHttpHeaders;
  readonly payload: Json;
}

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly timestamp?: number;
}

/**
 * A local stand-in of APNs, as strict as its documentation. The device token decides what happens: `bad0…` BadDeviceToken, `dead…` 410
 * since the second that the next 8 digits name, `7e57…` DeviceTokenNotForTopic, `b05e…` 503 once, `51e9…` no answer.
 */
export class ApnsService {
  readonly deliveries: ApnsDelivery[] = [];
  readonly #signing = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  /** The fields of `gatepost vendors set`. */
  readonly credentials = {
    teamId: 'TEAM123456',
    keyId: 'KEY1234567',
    topics: 'com.example.app',
    privateKey: this.#signing.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  /** Connections that were opened. */
  connections = 0;
  delayMs = 0;
  /** The answer to everything; undefined: by the rules. */
  refusal: Refusal | undefined;
  readonly #sessions = new Set<ServerHttp2Session>();
  /** By session, the provider token in use. */
  readonly #tokens = new WeakMap<ServerHttp2Session, string>();
  readonly #retried = new Set<string>();
  #streams = STREAMS;

  private constructor(
    private readonly server: Http2Server,
    private readonly scheme: string,
  ) {}

  /** @param certificate without one the server speaks HTTP/2 without TLS */
  static async start(certificate?: Certificate): Promise<ApnsService> {
    const options = { settings: { maxConcurrentStreams: 1 } };
    const server =
      certificate === undefined
        ? http2.createServer(options)
        : http2.createSecureServer({ ...options, ...certificate, allowHTTP1: false });
    const service = new ApnsService(server, certificate === undefined ? 'http' : 'https');
    server.on('session', (session) => {
      service.connections += 1;
      service.#sessions.add(session);
      session.on('error', () => undefined);
      session.once('close', () => service.#sessions.delete(session));
    });
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      // A broken connection ends the exchange.
      service.#handle(stream, headers).catch(() => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `${this.scheme}://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** The pushes that the device has got. */
  deliveriesTo(token: string): ApnsDelivery[] {
    return this.deliveries.filter((delivery) => delivery.token === token);
  }

  /** Changes the limit of streams, of open connections too. */
  limitStreams(streams: number): void {
    this.#streams = streams;
    for (const session of this.#sessions) session.settings({ maxConcurrentStreams: streams });
  }

  /** Ends the connections as Apple does before maintenance: requests in progress are answered. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  /** Breaks the connections. */
  breakConnections(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async stop(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    if (this.delayMs > 0) await sleep(this.delayMs);
    const [token = ''] = /[^/]*$/.exec(String(headers[':path'])) ?? [];
    if (token.startsWith('51e9') || stream.destroyed) return;
    const body = Buffer.concat(parts);
    const refusal =
      this.refusal ??
      (await this.#refusalOf(stream.session as ServerHttp2Session | undefined, headers, body)) ??
      this.#fateOf(token);
    if (stream.destroyed) return;
    if (refusal !== undefined) {
      const { status, ...answer } = refusal;
      stream.respond({ ':status': status });
      stream.end(JSON.stringify(answer));
      return;
    }
    stream.session?.settings({ maxConcurrentStreams: this.#streams });
    this.deliveries.push({ token, headers, payload: JSON.parse(body.toString()) as Json });
    stream.respond({ ':status': 200, 'apns-id': headers['apns-id'] ?? '' });
    stream.end();
  }

  async #refusalOf(
    session: ServerHttp2Session | undefined,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Refusal | undefined> {
    if (headers[':method'] !== 'POST') return { status: 405, reason: 'MethodNotAllowed' };
    if (!/^\/3\/device\/[0-9a-f]+$/i.test(String(headers[':path']))) return { status: 404, reason: 'BadPath' };
    return (
      (await this.#signInRefusal(session, String(headers['authorization'] ?? ''))) ?? this.#headerRefusal(headers, body)
    );
  }

  async #signInRefusal(session: ServerHttp2Session | undefined, authorization: string): Promise<Refusal | undefined> {
    if (!authorization.startsWith('bearer ')) return { status: 403, reason: 'MissingProviderToken' };
    const token = authorization.slice('bearer '.length);
    const known = session === undefined ? undefined : this.#tokens.get(session);
    if (known !== undefined && known !== token) return { status: 429, reason: 'TooManyProviderTokenUpdates' };
    const invalid = { status: 403, reason: 'InvalidProviderToken' };
    try {
      const { alg, kid } = decodeProtectedHeader(token);
      if (alg !== 'ES256' || kid !== this.credentials.keyId) return invalid;
      const { payload } = await jwtVerify(token, this.#signing.publicKey);
      if (payload.iss !== this.credentials.teamId || payload.iat === undefined) return invalid;
      if (Object.keys(payload).length !== 2) return invalid;
      if (Math.abs(Date.now() / 1_000 - payload.iat) > TOKEN_LIFE_SECONDS)
        return { status: 403, reason: 'ExpiredProviderToken' };
    } catch {
      return invalid;
    }
    if (session !== undefined) this.#tokens.set(session, token);
    return undefined;
  }

  #headerRefusal(headers: IncomingHttpHeaders, body: Buffer): Refusal | undefined {
    const bad = (reason: string) => ({ status: 400, reason });
    const { 'apns-topic': topic, 'apns-push-type': type, 'apns-priority': priority = '10' } = headers;
    const { 'apns-collapse-id': collapseId = '', 'apns-expiration': expiration = '0', 'apns-id': id } = headers;
    if (typeof topic !== 'string') return bad('MissingTopic');
    if (!topic.startsWith(this.credentials.topics)) return bad('TopicDisallowed');
    if (typeof type !== 'string' || !PUSH_TYPES.has(type)) return bad('InvalidPushType');
    if (!['10', '5', '1'].includes(String(priority))) return bad('BadPriority');
    if (type === 'background' && priority !== '5') return bad('BadPriority');
    if (Buffer.byteLength(String(collapseId)) > MAX_COLLAPSE_ID) return bad('BadCollapseId');
    if (!/^\d{1,12}$/.test(String(expiration))) return bad('BadExpirationDate');
    if (id !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(id)))
      return bad('BadMessageId');
    if (body.length === 0) return bad('PayloadEmpty');
    return body.length > MAX_BYTES ? { status: 413, reason: 'PayloadTooLarge' } : undefined;
  }

  #fateOf(token: string): Refusal | undefined {
    if (token.startsWith('bad0')) return { status: 400, reason: 'BadDeviceToken' };
    if (token.startsWith('7e57')) return { status: 400, reason: 'DeviceTokenNotForTopic' };
    if (token.startsWith('dead'))
      return { status: 410, reason: 'Unregistered', timestamp: Number.parseInt(token.slice(4, 12), 16) * 1_000 };
    if (!token.startsWith('b05e') || this.#retried.has(token)) return undefined;
    this.#retried.add(token);
    return { status: 503, reason: 'ServiceUnavailable' };
  }
}
