import { observeAnswer } from './observed-answers.js';

/** A JSON object of an answer. */
export type Json = Record<string, unknown>;

export interface ApiReply {
  readonly status: number;
  readonly headers: Headers;
  /** Empty where the answer is not JSON. */
  readonly body: Json;
  readonly text: string;
}

export interface ApiRequest {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The session token. */
  readonly session?: string | undefined;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

export interface AppKeys {
  readonly id: string;
  readonly appKey: string;
  readonly masterKey: string;
}

/** Speaks HTTP to a server under test. An answer with 5xx fails the test at once, except where 503 is expected. */
export class ApiClient {
  constructor(
    readonly baseUrl: string,
    private readonly credentials: Readonly<Record<string, string>>,
    private readonly mayBeUnavailable = false,
  ) {}

  static forApp(baseUrl: string, { id, appKey }: AppKeys): ApiClient {
    return new ApiClient(baseUrl, { 'x-lc-id': id, 'x-lc-key': appKey });
  }

  static forMaster(baseUrl: string, { id, masterKey }: AppKeys): ApiClient {
    return new ApiClient(baseUrl, { 'x-lc-id': id, 'x-lc-key': `${masterKey},master` });
  }

  /** The same client with other credentials. */
  as(credentials: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.baseUrl, credentials, this.mayBeUnavailable);
  }

  /** The same client, to which a server may answer that it cannot serve now. */
  acceptingUnavailable(): ApiClient {
    return new ApiClient(this.baseUrl, this.credentials, true);
  }

  get(path: string, request: ApiRequest = {}): Promise<ApiReply> {
    return this.send('GET', path, request);
  }

  post(path: string, body?: unknown, request: ApiRequest = {}): Promise<ApiReply> {
    return this.send('POST', path, { ...request, body });
  }

  put(path: string, body?: unknown, request: ApiRequest = {}): Promise<ApiReply> {
    return this.send('PUT', path, { ...request, body });
  }

  delete(path: string, request: ApiRequest = {}): Promise<ApiReply> {
    return this.send('DELETE', path, request);
  }

  /** @throws Error where the answer is a 5xx or no JSON object */
  async send(
    method: string,
    path: string,
    { headers, session, body, timeoutMs = 20_000 }: ApiRequest = {},
  ): Promise<ApiReply> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        ...this.credentials,
        ...(session === undefined ? {} : { 'x-lc-session': session }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    observeAnswer(this.baseUrl, { ...addressOf(method, path, headers, body), status: response.status, text });
    const isExpected = response.status < 500 || (this.mayBeUnavailable && response.status === 503);
    if (!isExpected) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return { status: response.status, headers: response.headers, body: parse(response, text), text };
  }
}

/** The method and path of a request, which its text/plain form has in the body. */
function addressOf(
  method: string,
  url: string,
  headers: ApiRequest['headers'],
  body: unknown,
): { method: string; path: string } {
  const [path = ''] = url.split('?');
  const isForm = headers?.['content-type']?.startsWith('text/plain') === true;
  const { _method = 'POST' } = (isForm ? body : {}) as { _method?: unknown };
  return { method: isForm && method === 'POST' ? String(_method).toUpperCase() : method, path };
}

function parse(response: Response, text: string): Json {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (text === '' || !isJson) return {};
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`not a JSON object: ${text.slice(0, 200)}`);
  return value as Json;
}
