import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
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

const PUSH_TYPES = new Set(
  'alert background complication controls fileprovider liveactivity location mdm pushtotalk voip widgets'.split(' '),
);
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

/** A new device token. Its first digits decide how the stand-in answers; those of other random tokens would do so now and then. */
export const appleToken = (digits = 'a0'): string => digits + randomBytes(32).toString('hex').slice(digits.length);

/**
 * A local stand-in of APNs, as strict as its documentation. The device token decides what happens: `bad0…` BadDeviceToken, `dead…` 410
 * since the second that the next 8 digits name, `7e57…` DeviceTokenNotForTopic, `b05e…` 503 once, `51e9…` no answer.
 */
export class ApnsService {
  readonly deliveries: ApnsDelivery[] = [];
  /** Takes what was accepted. */
  record = (delivery: ApnsDelivery): void => void this.deliveries.push(delivery);
  /** The fields of `gatepost vendors set`. */
  readonly credentials: Readonly<Record<'teamId' | 'keyId' | 'topics' | 'privateKey', string>>;
  /** Connections that were opened. */
  connections = 0;
  delayMs = 0;
  /** The answer to everything; undefined: by the rules. */
  refusal: Refusal | undefined;
  readonly #sessions = new Set<ServerHttp2Session>();
  /** By session, the provider token in use. */
  readonly #tokens = new WeakMap<ServerHttp2Session, string>();
  readonly #admitted = new WeakSet<ServerHttp2Session>();
  readonly #retried = new Set<string>();
  readonly #publicKey: KeyObject;
  /** Times of provider tokens whose signature was verified. */
  readonly #verified = new Map<string, number>();
  #streams = STREAMS;

  private constructor(
    private readonly server: Http2Server,
    privateKey: string,
  ) {
    this.credentials = { teamId: 'TEAM123456', keyId: 'KEY1234567', topics: 'com.example.app', privateKey };
    this.#publicKey = createPublicKey(privateKey);
  }

  /** @param privateKey PKCS #8 in PEM, on the curve P-256 @param port 0: a free one */
  static async start(certificate: Certificate, privateKey: string, port = 0): Promise<ApnsService> {
    const settings = { maxConcurrentStreams: 1 };
    const server = http2.createSecureServer({ settings, ...certificate, allowHTTP1: false });
    const service = new ApnsService(server, privateKey);
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
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** The pushes that the device has got. */
  deliveriesTo(token: string): ApnsDelivery[] {
    return this.deliveries.filter((delivery) => delivery.token === token);
  }

  /** Changes the limit of streams, of open connections too. */
  limitStreams(streams: number): void {
    this.#streams = streams;
    // A session without requests is destroyed as soon as it is closed.
    const open = [...this.#sessions].filter(({ destroyed }) => !destroyed);
    for (const session of open) session.settings({ maxConcurrentStreams: streams });
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
    if (token.startsWith('51e9')) return;
    const body = Buffer.concat(parts);
    const session = stream.session as ServerHttp2Session | undefined;
    const refusal = this.refusal ?? (await this.#refusalOf(session, headers, body)) ?? this.#fateOf(token);
    this.#admit(session);
    if (refusal !== undefined) {
      const { status, ...answer } = refusal;
      stream.respond({ ':status': status });
      stream.end(JSON.stringify(answer));
      return;
    }
    stream.respond({ ':status': 200, 'apns-id': headers['apns-id'] });
    stream.end();
    this.record({ token, headers, payload: JSON.parse(body.toString()) as Json });
  }

  /** After its first request with a valid provider token, a connection may have many streams. */
  #admit(session: ServerHttp2Session | undefined): void {
    if (session === undefined || !this.#tokens.has(session) || this.#admitted.has(session)) return;
    this.#admitted.add(session);
    session.settings({ maxConcurrentStreams: this.#streams });
  }

  async #refusalOf(
    session: ServerHttp2Session | undefined,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): Promise<Refusal | undefined> {
    if (headers[':method'] !== 'POST') return { status: 405, reason: 'MethodNotAllowed' };
    if (!/^\/3\/device\/[0-9a-f]+$/i.test(String(headers[':path']))) return { status: 404, reason: 'BadPath' };
    const refusal = await this.#signInRefusal(session, headers.authorization ?? '');
    if (refusal !== undefined) return refusal;
    const reason = mistakes(headers, body, this.credentials.topics).find(([, isMistake]) => isMistake)?.[0];
    if (reason === undefined) return undefined;
    return { status: reason === 'PayloadTooLarge' ? 413 : 400, reason };
  }

  async #signInRefusal(session: ServerHttp2Session | undefined, authorization: string): Promise<Refusal | undefined> {
    if (!authorization.startsWith('bearer ')) return { status: 403, reason: 'MissingProviderToken' };
    const token = authorization.slice('bearer '.length);
    const known = session === undefined ? undefined : this.#tokens.get(session);
    if (known !== undefined && known !== token) return { status: 429, reason: 'TooManyProviderTokenUpdates' };
    const issuedAt = await this.#issuedAt(token).catch(() => undefined);
    if (issuedAt === undefined) return { status: 403, reason: 'InvalidProviderToken' };
    if (Math.abs(Date.now() / 1_000 - issuedAt) > TOKEN_LIFE_SECONDS)
      return { status: 403, reason: 'ExpiredProviderToken' };
    if (session !== undefined) this.#tokens.set(session, token);
    return undefined;
  }

  /** The time of a provider token of this team and key; undefined for any other. */
  async #issuedAt(token: string): Promise<number | undefined> {
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    const { alg, kid } = decodeProtectedHeader(token);
    const { payload } = await jwtVerify(token, this.#publicKey);
    const isOurs = alg === 'ES256' && kid === this.credentials.keyId && payload.iss === this.credentials.teamId;
    if (!isOurs || Object.keys(payload).length !== 2 || payload.iat === undefined) return undefined;
    this.#verified.set(token, payload.iat);
    return payload.iat;
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

const MESSAGE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The mistakes of a request in the order in which Apple reports them. */
function mistakes(headers: IncomingHttpHeaders, body: Buffer, topics: string): [reason: string, isMistake: boolean][] {
  const textOf = (name: string, missing = '') => String(headers[name] ?? missing);
  const [topic, type, priority] = [textOf('apns-topic'), textOf('apns-push-type'), textOf('apns-priority', '10')];
  return [
    ['MissingTopic', topic === ''],
    ['TopicDisallowed', !topic.startsWith(topics)],
    ['InvalidPushType', !PUSH_TYPES.has(type)],
    ['BadPriority', !['10', '5', '1'].includes(priority) || (type === 'background' && priority !== '5')],
    ['BadCollapseId', Buffer.byteLength(textOf('apns-collapse-id')) > MAX_COLLAPSE_ID],
    ['BadExpirationDate', !/^\d{1,12}$/.test(textOf('apns-expiration', '0'))],
    ['BadMessageId', headers['apns-id'] !== undefined && !MESSAGE_ID.test(textOf('apns-id'))],
    ['PayloadEmpty', body.length === 0],
    ['PayloadTooLarge', body.length > MAX_BYTES],
  ];
}
