import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import http2, {
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import type { Json } from '../api-client.js';

const PROJECT = 'example-project';
const EMAIL = 'sender@example-project.iam.gserviceaccount.com';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const MAX_BYTES = 4_096;

const notification = z.strictObject({
  title: z.string().optional(),
  body: z.string().optional(),
  image: z.string().optional(),
});
const androidNotification = notification.extend({
  icon: z.string().optional(),
  color: z.string().optional(),
  sound: z.string().optional(),
  tag: z.string().optional(),
  click_action: z.string().optional(),
  channel_id: z.string().optional(),
  notification_count: z.number().int().optional(),
});
const request = z.strictObject({
  validate_only: z.boolean().optional(),
  message: z.strictObject({
    token: z.string().min(1),
    notification: notification.optional(),
    data: z.record(z.string().regex(/^(?!from$|message_type$|google\.|gcm\.)/), z.string()).optional(),
    android: z
      .strictObject({
        collapse_key: z.string().optional(),
        priority: z.enum(['NORMAL', 'HIGH']).optional(),
        ttl: z
          .string()
          .regex(/^\d+s$/)
          .optional(),
        restricted_package_name: z.string().optional(),
        notification: androidNotification.optional(),
        direct_boot_ok: z.boolean().optional(),
      })
      .optional(),
  }),
});

/** A message that FCM has accepted. */
interface FcmDelivery {
  readonly token: string;
  readonly message: Json;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
  /** The code of FcmError. */
  readonly fcmCode?: string;
  /** The field with a mistake. */
  readonly field?: string;
}

const TYPES = 'type.googleapis.com/google';
const INVALID_MESSAGE: Refusal = { status: 400, code: 'INVALID_ARGUMENT', field: 'message' };
const TOO_BIG: Refusal = {
  status: 400,
  code: 'INVALID_ARGUMENT',
  fcmCode: 'INVALID_ARGUMENT',
  message: 'Android message is too big',
};

/**
 * A local stand-in of Firebase Cloud Messaging and Google's sign-in, as strict as their documentation. The token decides what happens:
 * `gone-…` UNREGISTERED, `invalid-…` INVALID_ARGUMENT, `other-app-…` SENDER_ID_MISMATCH, `once503-…` 503 once.
 */
export class FcmService {
  readonly deliveries: FcmDelivery[] = [];
  /** Takes what was accepted. */
  record = (delivery: FcmDelivery): void => void this.deliveries.push(delivery);
  /** The fields of `gatepost vendors set`. */
  readonly credentials: { readonly serviceAccount: string };
  readonly #publicKey: KeyObject;
  /** Access tokens that were given. */
  readonly accessTokens = new Set<string>();
  /** Whether requests get no answer. */
  isSilent = false;
  /** Connections until now. */
  connections = 0;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #retried = new Set<string>();

  private constructor(
    private readonly server: Http2Server,
    private readonly tokenServer: Server,
    privateKey: string,
  ) {
    const account = { type: 'service_account', project_id: PROJECT, client_email: EMAIL, private_key: privateKey };
    this.credentials = { serviceAccount: JSON.stringify(account, null, 2) };
    this.#publicKey = createPublicKey(privateKey);
  }

  /** @param privateKey RSA, PKCS #8 in PEM @param ports for messages and for the sign-in; 0: a free one */
  static async start(privateKey: string, [port, tokenPort] = [0, 0]): Promise<FcmService> {
    const [server, tokenServer] = [http2.createServer(), createServer()];
    const service = new FcmService(server, tokenServer, privateKey);
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
    tokenServer.on('request', (incoming, response) => {
      void service.#signIn(incoming, response);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    await new Promise<void>((resolve) => tokenServer.listen(tokenPort, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get tokenUrl(): string {
    return `http://127.0.0.1:${(this.tokenServer.address() as AddressInfo).port}/token`;
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.tokenServer.closeAllConnections();
    await Promise.all([this.server, this.tokenServer].map((one) => new Promise((resolve) => one.close(resolve))));
  }

  async #signIn(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(incoming));
    try {
      if (form.get('grant_type') !== GRANT) throw new Error('grant');
      const { payload } = await jwtVerify(form.get('assertion') ?? '', this.#publicKey, {
        algorithms: ['RS256'],
        issuer: EMAIL,
        audience: this.tokenUrl,
        maxTokenAge: '1h',
      });
      if (payload['scope'] !== SCOPE) throw new Error('scope');
    } catch {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }));
      return;
    }
    const token = randomUUID();
    this.accessTokens.add(token);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: token, expires_in: 3_600, token_type: 'Bearer' }));
  }

  async #handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const body = await text(stream);
    if (this.isSilent) return;
    const refusal = this.#refusalOf(headers, body) ?? this.#accept(body);
    if (stream.destroyed) return;
    if (refusal === undefined) {
      stream.respond({ ':status': 200 });
      stream.end(JSON.stringify({ name: `projects/${PROJECT}/messages/${randomUUID()}` }));
      return;
    }
    const { status, code, message = code, fcmCode, field } = refusal;
    const details = [
      ...(fcmCode === undefined ? [] : [{ '@type': `${TYPES}.firebase.fcm.v1.FcmError`, errorCode: fcmCode }]),
      ...(field === undefined ? [] : [{ '@type': `${TYPES}.rpc.BadRequest`, fieldViolations: [{ field }] }]),
    ];
    stream.respond({ ':status': status, 'content-type': 'application/json' });
    stream.end(JSON.stringify({ error: { code: status, message, status: code, details } }));
  }

  #refusalOf(headers: IncomingHttpHeaders, body: string): Refusal | undefined {
    const [, token = ''] = /^Bearer (.*)$/.exec(headers.authorization ?? '') ?? [];
    if (!this.accessTokens.has(token)) return { status: 401, code: 'UNAUTHENTICATED' };
    if (headers[':path'] !== `/v1/projects/${PROJECT}/messages:send`) return { status: 403, code: 'PERMISSION_DENIED' };
    const parsed = request.safeParse(JSON.parse(body));
    if (!parsed.success) return INVALID_MESSAGE;
    const { notification: shown, data, android } = parsed.data.message;
    const { tag: _tag, ...own } = android?.notification ?? {};
    const notification = { ...shown, ...own };
    const size = Buffer.byteLength(JSON.stringify({ notification, data }));
    return size > MAX_BYTES ? TOO_BIG : undefined;
  }

  #accept(body: string): Refusal | undefined {
    const { message, validate_only: isCheck } = JSON.parse(body) as { message: Json; validate_only?: boolean };
    const token = String(message['token']);
    if (token.startsWith('gone-')) return { status: 404, code: 'NOT_FOUND', fcmCode: 'UNREGISTERED' };
    const invalid = { status: 400, code: 'INVALID_ARGUMENT', fcmCode: 'INVALID_ARGUMENT' };
    if (token.startsWith('invalid-')) return { ...invalid, field: 'message.token' };
    if (isCheck === true) return invalid;
    if (token.startsWith('other-app-'))
      return { status: 403, code: 'PERMISSION_DENIED', fcmCode: 'SENDER_ID_MISMATCH' };
    if (token.startsWith('once503-') && !this.#retried.has(token)) {
      this.#retried.add(token);
      return { status: 503, code: 'UNAVAILABLE', fcmCode: 'UNAVAILABLE' };
    }
    this.record({ token, message });
    return undefined;
  }
}
