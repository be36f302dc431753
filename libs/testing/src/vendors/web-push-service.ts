import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import http2, { type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { jwtVerify } from 'jose';
import type { Json } from '../api-client.js';
import type { Certificate } from '../self-signed-certificate.js';

const MAX_BYTES = 4_096;
const DAY_SECONDS = 86_400;
/** Of a connection; as the push services of browsers permit. */
const MAX_STREAMS = 100;

/** A subscription of a browser. */
export interface TestSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** The keys of a subscription, and the application that it belongs to. */
interface Browser {
  readonly ecdh: ReturnType<typeof createECDH>;
  readonly auth: Buffer;
  readonly applicationKey: string;
}

/** A message that a browser has decrypted. */
interface WebPushDelivery {
  readonly endpoint: string;
  readonly headers: IncomingMessage['headers'];
  readonly message: Json;
}

/**
 * A local stand-in of a browser's push service and of its browsers: it checks the authorization, and decrypts as a browser does.
 * It speaks HTTP/2, and HTTP/1.1 with clients that ask for nothing else. `POST /subscribe` with the public key of an application as its body subscribes a browser.
 */
export class WebPushService {
  readonly deliveries: WebPushDelivery[] = [];
  /** Takes what was accepted. */
  record = (delivery: WebPushDelivery): void => void this.deliveries.push(delivery);
  readonly #browsers = new Map<string, Browser>();
  readonly #misbehaviours = new Map<string, (response: ServerResponse) => void>();
  /** Paths of requests, in their order. */
  readonly paths: string[] = [];

  readonly #sockets = new Set<TLSSocket>();
  /** Authorizations that were right, with the key of their application. */
  readonly #authorized = new Map<string, string>();

  private constructor(private readonly server: Http2SecureServer) {
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      // Google's service has no certificate for a handshake without the name of the server.
      if (!socket.servername) socket.destroy();
    });
    // The requests of both protocols have the members that are used here.
    server.on('request', (request, response) => {
      void this.#handle(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    });
  }

  /** @param port 0: a free one */
  static async start(certificate: Certificate, port = 0): Promise<WebPushService> {
    const settings = { maxConcurrentStreams: MAX_STREAMS };
    const server = http2.createSecureServer({ settings, ...certificate, allowHTTP1: true });
    const service = new WebPushService(server);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return service;
  }

  get origin(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** Subscribes a browser with the public key of an application. */
  subscribe(applicationKey: string): TestSubscription {
    const ecdh = createECDH('prime256v1');
    ecdh.generateKeys();
    const browser = { ecdh, auth: randomBytes(16), applicationKey };
    const path = `/push/${randomUUID()}`;
    this.#browsers.set(path, browser);
    const keys = { p256dh: ecdh.getPublicKey('base64url'), auth: browser.auth.toString('base64url') };
    return { endpoint: `${this.origin}${path}`, keys };
  }

  /** From now on the push service answers messages to a subscription in this way. */
  misbehave({ endpoint }: TestSubscription, answer: (response: ServerResponse) => void): void {
    this.#misbehaviours.set(new URL(endpoint).pathname, answer);
  }

  /** Ends a subscription, as its user does. */
  unsubscribe({ endpoint }: TestSubscription): void {
    this.#browsers.delete(new URL(endpoint).pathname);
  }

  deliveriesTo({ endpoint }: TestSubscription): WebPushDelivery[] {
    return this.deliveries.filter((delivery) => delivery.endpoint === endpoint);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { url = '' } = request;
    this.paths.push(url);
    const misbehaviour = this.#misbehaviours.get(url);
    if (misbehaviour !== undefined) {
      misbehaviour(response);
      return;
    }
    if (request.method === 'POST' && url === '/subscribe') {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify(this.subscribe(body.toString().trim())));
      return;
    }
    response.writeHead(await this.#statusOf(request, body)).end();
  }

  async #statusOf({ url = '', headers }: IncomingMessage, body: Buffer): Promise<number> {
    const browser = this.#browsers.get(url);
    if (browser === undefined) return 410;
    if (headers['content-encoding'] !== 'aes128gcm' || !/^\d+$/.test(String(headers['ttl']))) return 400;
    if (body.length > MAX_BYTES) return 413;
    if (!(await this.#checked(headers.authorization ?? '', browser))) return 403;
    const message = JSON.parse(decrypt(body, browser)) as Json;
    this.record({ endpoint: `${this.origin}${url}`, headers, message });
    return 201;
  }

  /** Push services check a signature once, too: applications send the same for hours. */
  async #checked(authorization: string, browser: Browser): Promise<boolean> {
    const { applicationKey } = browser;
    if (this.#authorized.get(authorization) === applicationKey) return true;
    const isAuthorized = await this.#isAuthorized(authorization, browser).catch(() => false);
    if (isAuthorized) this.#authorized.set(authorization, applicationKey);
    return isAuthorized;
  }

  async #isAuthorized(authorization: string, { applicationKey }: Browser): Promise<boolean> {
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(authorization) ?? [];
    if (key !== applicationKey) return false;
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
    const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
    const { payload } = await jwtVerify(token, publicKey, { audience: this.origin, algorithms: ['ES256'] });
    const isTimely = (payload.exp ?? Infinity) - Date.now() / 1_000 <= DAY_SECONDS;
    return isTimely && /^(?:mailto:|https:)\S+$/.test(payload.sub ?? '');
  }
}

/** RFC 8291, from the side of the browser. */
function decrypt(body: Buffer, { ecdh, auth }: Browser): string {
  const [salt, theirs] = [body.subarray(0, 16), body.subarray(21, 21 + (body[20] ?? 0))];
  const derive = (secret: Buffer, own: Buffer, info: Buffer, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, own, info, bytes));
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), theirs]);
  const shared = derive(ecdh.computeSecret(theirs), auth, info, 32);
  const key = derive(shared, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derive(shared, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const sealed = body.subarray(21 + theirs.length);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
  const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  if (plain.at(-1) !== 2) throw new Error('the padding of the last record is wrong');
  return plain.subarray(0, -1).toString();
}
