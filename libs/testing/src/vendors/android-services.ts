import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Json } from '../api-client.js';

const CLOCK_MS = 600_000;
const MAX_TOKENS = 1_000;
const CHARACTERS = {
  ...{ xiaomiTitle: 49, xiaomiText: 127, oppoTitle: 50, oppoText: 50, oppoLongText: 128 },
  ...{ vivoTitle: 40, vivoText: 100, meizuTitle: 32, meizuText: 100 },
};

/** A message that a vendor has accepted. */
export interface AndroidDelivery {
  readonly vendor: AndroidVendor;
  readonly token: string;
  readonly message: Json;
}

type AndroidVendor = keyof typeof CREDENTIALS;

/** The fields of `gatepost vendors set`. */
const CREDENTIALS = {
  huawei: { appId: '100001', appSecret: 'huawei-secret' },
  honor: { appId: '200001', clientId: 'honor-client', clientSecret: 'honor-secret' },
  xiaomi: { packageName: 'com.example.app', appSecret: 'xiaomi-secret' },
  oppo: { appKey: 'oppo-key', masterSecret: 'oppo-secret' },
  vivo: { appId: '300001', appKey: 'vivo-key', appSecret: 'vivo-secret' },
  meizu: { appId: '400001', appSecret: 'meizu-secret' },
} as const;

interface Call {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
  readonly json: Json;
}

type Answer = Json & { readonly httpStatus?: number };

/**
 * Local stand-ins of the push services of Huawei, Honor, Xiaomi, OPPO, vivo and Meizu, as strict as their documentation about signatures,
 * access tokens, lists and lengths. The token decides what happens: `invalid-…` is reported as dead, `once-…` is refused once for a while.
 */
export class AndroidServices {
  readonly deliveries: AndroidDelivery[] = [];
  /** Takes what was accepted. */
  record = (delivery: AndroidDelivery): void => void this.deliveries.push(delivery);
  readonly credentials = CREDENTIALS;
  /** Xiaomi's list of tokens whose devices have uninstalled the app. */
  readonly deadXiaomiTokens: string[] = [];
  readonly #accessTokens = new Map<string, AndroidVendor>();
  readonly #retried = new Set<string>();
  /** Ids of requests and messages that OPPO and vivo take once. */
  readonly #seen = new Set<string>();
  readonly #vivoTasks = new Map<string, Json>();

  private constructor(private readonly server: Server) {}

  /** @param port 0: a free one */
  static async start(port = 0): Promise<AndroidServices> {
    const server = createServer();
    const services = new AndroidServices(server);
    server.on('request', (request, response) => {
      void services.#handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return services;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get vendors(): AndroidVendor[] {
    return Object.keys(CREDENTIALS) as AndroidVendor[];
  }

  deliveriesTo(token: string): AndroidDelivery[] {
    return this.deliveries.filter((delivery) => delivery.token === token);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const isJson = request.headers['content-type'] === 'application/json';
    const call = {
      path: request.url ?? '',
      headers: request.headers,
      form: new URLSearchParams(isJson ? '' : body),
      json: (isJson ? JSON.parse(body) : {}) as Json,
    };
    const { httpStatus = 200, ...answer } = this.#answerTo(call);
    response.writeHead(httpStatus, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  }

  #answerTo(call: Call): Answer {
    const { huawei, honor } = CREDENTIALS;
    const routes: Readonly<Record<string, () => Answer>> = {
      '/oauth2/v3/token': () => this.#oauth('huawei', call, huawei.appId, huawei.appSecret),
      '/auth/token': () => this.#oauth('honor', call, honor.clientId, honor.clientSecret),
      [`/v1/${huawei.appId}/messages:send`]: () => this.#huawei(call),
      [`/api/v1/${honor.appId}/sendMessage`]: () => this.#honor(call),
      '/v3/message/regid': () => this.#xiaomi(call),
      '/v1/feedback/fetch_invalid_regids': () => this.#xiaomiFeedback(call),
      '/server/v1/auth': () => this.#oppoSignIn(call),
      '/server/v1/message/notification/unicast_batch': () => this.#oppo(call),
      '/message/auth': () => this.#vivoSignIn(call),
      '/message/send': () => this.#vivo(call, call.json, [String(call.json['regId'])]),
      '/message/saveListPayload': () => this.#vivoPayload(call),
      '/message/pushToList': () => this.#vivoList(call),
      '/garcia/api/server/push/varnished/pushByPushId': () => this.#meizu(call),
    };
    return routes[call.path]?.() ?? { httpStatus: 404 };
  }

  #oauth(vendor: AndroidVendor, { form }: Call, id: string, secret: string): Answer {
    const isRight = form.get('client_id') === id && form.get('client_secret') === secret;
    if (!isRight || form.get('grant_type') !== 'client_credentials')
      return { httpStatus: 401, error: 'unauthorized_client', error_description: 'Invalid client credentials' };
    return { access_token: this.#newToken(vendor), expires_in: 3_600, token_type: 'Bearer' };
  }

  #huawei(call: Call): Answer {
    if (!this.#hasBearer('huawei', call)) return { code: '80200001', msg: 'Oauth authentication error.' };
    const message = call.json['message'] as Json;
    const tokens = message['token'] as string[];
    const { ttl } = (message['android'] ?? {}) as { ttl?: string };
    if (tokens.length > MAX_TOKENS) return { code: '80300010', msg: 'too many tokens' };
    if (!/^\d{1,7}s$/.test(ttl ?? '') || !hasContent(message)) return { code: '80100003', msg: 'Illegal payload.' };
    if (tokens.some((token) => this.#isLate(token))) return { httpStatus: 503 };
    return huaweiAnswer(tokens, this.#deliver('huawei', tokens, message));
  }

  #honor(call: Call): Answer {
    const isTimely = Math.abs(Date.now() - Number(call.headers['timestamp'])) < CLOCK_MS;
    if (!this.#hasBearer('honor', call) || !isTimely) return { httpStatus: 401, code: 401, message: 'unauthorized' };
    const tokens = call.json['token'] as string[];
    if (tokens.some((token) => this.#isLate(token))) return { httpStatus: 503 };
    if (!hasContent(call.json)) return { httpStatus: 400, code: 80_100_003, message: 'Illegal payload.' };
    const bad = this.#deliver('honor', tokens, call.json);
    return {
      code: 200,
      message: 'success',
      data: { sendResult: true, requestId: '1', failTokens: [], expireTokens: bad },
    };
  }

  #xiaomi({ headers, form }: Call): Answer {
    const refuse = (code: number) => ({ result: 'error', code, reason: 'refused' });
    if (headers.authorization !== `key=${CREDENTIALS.xiaomi.appSecret}`) return refuse(21_301);
    if (form.get('restricted_package_name') !== CREDENTIALS.xiaomi.packageName) return refuse(22_000);
    const tokens = (form.get('registration_id') ?? '').split(',');
    const isShown = form.get('pass_through') === '0';
    const isRight = (name: string, limit: number) => {
      const value = form.get(name) ?? '';
      return value.trim() !== '' && value.length <= limit;
    };
    const { xiaomiTitle, xiaomiText } = CHARACTERS;
    if (isShown && !(isRight('title', xiaomiTitle) && isRight('description', xiaomiText))) return refuse(10_017);
    if (tokens.some((token) => this.#isLate(token))) return refuse(10_027);
    const bad = this.#deliver('xiaomi', tokens, Object.fromEntries(form));
    if (bad.length === tokens.length) return refuse(20_301);
    const listed = bad.length === 0 ? {} : { bad_regids: bad.join(',') };
    return { result: 'ok', code: 0, data: { id: randomUUID(), ...listed } };
  }

  /** Each dead token once. */
  #xiaomiFeedback({ headers }: Call): Answer {
    if (headers.authorization !== `key=${CREDENTIALS.xiaomi.appSecret}`) return { result: 'error', code: 21_301 };
    return { result: 'ok', code: 0, data: { list: this.deadXiaomiTokens.splice(0) } };
  }

  #oppoSignIn({ form }: Call): Answer {
    const { appKey, masterSecret } = CREDENTIALS.oppo;
    const timestamp = form.get('timestamp') ?? '';
    const isTimely = Math.abs(Date.now() - Number(timestamp)) < CLOCK_MS;
    const sign = hash('sha256', `${appKey}${timestamp}${masterSecret}`);
    if (form.get('app_key') !== appKey || form.get('sign') !== sign || !isTimely)
      return { code: 14, message: 'Invalid sign' };
    return { code: 0, message: 'Success', data: { auth_token: this.#newToken('oppo'), create_time: Date.now() } };
  }

  #oppo({ form }: Call): Answer {
    if (this.#accessTokens.get(form.get('auth_token') ?? '') !== 'oppo')
      return { code: 11, message: 'Invalid AuthToken' };
    const messages = JSON.parse(form.get('messages') ?? '[]') as { target_value: string; notification: Json }[];
    const { oppoTitle, oppoText, oppoLongText } = CHARACTERS;
    const results = messages.map(({ target_value: token, notification }) => {
      const answer = (errorCode: number) => ({ registrationId: token, messageId: randomUUID(), errorCode });
      const { title, content, app_message_id: id } = notification as Record<string, string | undefined>;
      const limit = notification['style'] === 2 ? oppoLongText : oppoText;
      if (isLonger(title, oppoTitle) || isLonger(content, limit)) return answer(40);
      if (this.#isLate(token)) return answer(-2);
      if (this.#seen.has(`${id ?? ''} ${token}`)) return answer(0);
      this.#seen.add(`${id ?? ''} ${token}`);
      return answer(this.#deliver('oppo', [token], notification).length === 0 ? 0 : 10_000);
    });
    return { code: 0, message: 'Success', data: results };
  }

  #vivoSignIn({ json }: Call): Answer {
    const { appId, appKey, appSecret } = CREDENTIALS.vivo;
    const timestamp = Number(json['timestamp']);
    const sign = hash('md5', `${appId}${appKey}${timestamp}${appSecret}`);
    const isRight = json['appId'] === appId && json['appKey'] === appKey && json['sign'] === sign;
    if (!isRight || Math.abs(Date.now() - timestamp) > CLOCK_MS) return { result: 10_050, desc: 'sign' };
    return { result: 0, desc: 'ok', authToken: this.#newToken('vivo') };
  }

  #vivoProblem({ headers }: Call, message: Json): number {
    if (this.#accessTokens.get(String(headers['authtoken'])) !== 'vivo') return 10_000;
    const { title, content, timeToLive } = message as { title: string; content: string; timeToLive: number };
    if (widthOf(title) > CHARACTERS.vivoTitle || widthOf(content) > CHARACTERS.vivoText) return 10_045;
    return timeToLive < 60 || timeToLive > 86_400 ? 10_043 : 0;
  }

  #vivo(call: Call, message: Json, tokens: readonly string[]): Answer {
    const problem = this.#vivoProblem(call, message);
    if (problem !== 0) return { result: problem, desc: 'refused' };
    if (tokens.some((token) => this.#isLate(token))) return { result: 10_072, desc: 'too fast' };
    const request = String(call.json['requestId']);
    if (this.#seen.has(request)) return { result: 10_056, desc: 'repeated requestId' };
    this.#seen.add(request);
    const invalidUsers = this.#deliver('vivo', tokens, message).map((userid) => ({ userid, status: 2 }));
    return { result: 0, desc: 'ok', taskId: randomUUID(), invalidUser: invalidUsers[0], invalidUsers };
  }

  #vivoPayload(call: Call): Answer {
    const problem = this.#vivoProblem(call, call.json);
    if (problem !== 0) return { result: problem, desc: 'refused' };
    const taskId = randomUUID();
    this.#vivoTasks.set(taskId, call.json);
    return { result: 0, desc: 'ok', taskId };
  }

  #vivoList(call: Call): Answer {
    const message = this.#vivoTasks.get(String(call.json['taskId']));
    const tokens = call.json['regIds'] as string[];
    if (message === undefined || tokens.length < 2) return { result: 10_043, desc: 'refused' };
    return this.#vivo(call, message, tokens);
  }

  #meizu({ form }: Call): Answer {
    const { appId, appSecret } = CREDENTIALS.meizu;
    const pairs = [...form].filter(([name]) => name !== 'sign').map(([name, value]) => `${name}=${value}`);
    const isSigned = form.get('sign') === hash('md5', `${pairs.sort().join('')}${appSecret}`);
    if (form.get('appId') !== appId || !isSigned) return { code: '1006', message: 'sign', value: {} };
    const tokens = (form.get('pushIds') ?? '').split(',');
    if (tokens.some((token) => this.#isLate(token))) return { code: '110010', message: 'too fast', value: {} };
    const message = JSON.parse(form.get('messageJson') ?? '{}') as Json & { noticeBarInfo?: Record<string, string> };
    const { title, content } = message.noticeBarInfo ?? {};
    if (isLonger(title, CHARACTERS.meizuTitle) || isLonger(content, CHARACTERS.meizuText))
      return { code: '1005', message: 'length', value: {} };
    const bad = this.#deliver('meizu', tokens, message);
    return {
      code: '200',
      message: '',
      msgId: randomUUID(),
      value: Object.fromEntries(bad.map((token) => [token, '110002'])),
    };
  }

  /** @returns the tokens that no device has */
  #deliver(vendor: AndroidVendor, tokens: readonly string[], message: Json): string[] {
    const isDead = (token: string) => token.startsWith('invalid-') || token.startsWith('no-device');
    for (const token of tokens) if (!isDead(token)) this.record({ vendor, token, message });
    return tokens.filter(isDead);
  }

  #isLate(token: string): boolean {
    if (!token.startsWith('once-') || this.#retried.has(token)) return false;
    this.#retried.add(token);
    return true;
  }

  #hasBearer(vendor: AndroidVendor, { headers }: Call): boolean {
    return this.#accessTokens.get((headers.authorization ?? '').replace(/^Bearer /, '')) === vendor;
  }

  #newToken(vendor: AndroidVendor): string {
    const token = randomUUID();
    this.#accessTokens.set(token, vendor);
    return token;
  }
}

function isLonger(plain: string | undefined, limit: number): boolean {
  return plain !== undefined && plain.length > limit;
}

function widthOf(plain: string): number {
  return plain.length + plain.replaceAll(/[ -~]/g, '').length;
}

/** A notification of Huawei and Honor has a title and a text, in either place; a message without one is a data message. */
function hasContent(message: Json): boolean {
  const { notification: forAndroid } = (message['android'] ?? {}) as Json;
  const { notification } = message;
  if (notification === undefined && forAndroid === undefined) return typeof message['data'] === 'string';
  const { title, body } = { ...(notification as Json), ...(forAndroid as Json) };
  return [title, body].every((text) => typeof text === 'string' && text !== '');
}

function huaweiAnswer(tokens: readonly string[], bad: readonly string[]): Answer {
  if (bad.length === tokens.length) return { code: '80300007', msg: 'All tokens are invalid.' };
  if (bad.length === 0) return { code: '80000000', msg: 'Success', requestId: randomUUID() };
  const counts = { success: tokens.length - bad.length, failure: bad.length, illegal_tokens: bad };
  return { code: '80100000', msg: JSON.stringify(counts), requestId: randomUUID() };
}

function hash(algorithm: 'md5' | 'sha256', plain: string): string {
  return createHash(algorithm).update(plain).digest('hex');
}
