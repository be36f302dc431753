import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { extname, join } from 'node:path';
import type { ArgumentsHost } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientAddressOf } from '#admission';
import { ARRIVAL_TIMES, destroySoon, NetworkList, packageVersion, parseJson } from '#bootstrap';
import { appError } from '#errors';
import { CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from './console.config.js';
import { addConsoleRoutes, sendConsoleError } from './http/console-router.js';
import { CALLBACK_PATH } from './operators/issuer.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** From `X-Forwarded-For` only as far as the proxies are trusted. */
    clientAddress: string;
  }
}

/** Ids of passkeys have up to 1,023 bytes (WebAuthn Level 3, section 4), in base64url 1,364 characters. */
const MAX_PARAM_LENGTH = 1_364;
/** For orchestrators and Prometheus, which call the process by its address. */
const PROCESS_PATHS = new Set(['/healthz', '/readyz', '/metrics']);
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), payment=(), usb=(), publickey-credentials-create=(self), publickey-credentials-get=(self)',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-gatepost-version': packageVersion(),
  'x-robots-tag': 'noindex',
};
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** Vite names a file by a hash of its content: `index-DiwrgTda.js`. */
const HASHED = /-[\w-]{8}\.\w+$/;
const NONCE_PLACEHOLDER = /__CSP_NONCE__/g;

export function createConsoleServer({ bodyLimitBytes, trustedProxies }: ConsoleConfig): FastifyAdapter {
  return new FastifyAdapter({
    ...ARRIVAL_TIMES,
    bodyLimit: bodyLimitBytes,
    return503OnClosing: false,
    skipMiddie: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestIdHeader: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: () => randomUUID(),
    // Both come before the hooks, which check networks and hosts.
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      void reply.code(400).send();
    },
    clientErrorHandler: (_error: Error, socket: Socket) => {
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
      destroySoon(socket);
    },
  });
}

export function prepareConsoleServer(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const url = app.get(PublicUrl);
  const { clientNetworks, pageFolder } = app.get<ConsoleConfig>(CONSOLE_CONFIG);
  const networks = clientNetworks && new NetworkList(clientNetworks);
  app.getHttpServer().on('listening', () => {
    url.listensOn((app.getHttpServer().address() as { port: number }).port);
  });
  app.useGlobalFilters({
    catch: (thrown: unknown, host: ArgumentsHost) => {
      const http = host.switchToHttp();
      sendConsoleError(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), thrown);
    },
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => {
    try {
      done(null, parseJson(body as string));
    } catch (error) {
      done(error as Error);
    }
  });
  fastify.addHook('onRequest', async (request, reply) => {
    request.clientAddress = clientAddressOf(request);
    const isForProcess = PROCESS_PATHS.has(request.routeOptions.url ?? '');
    // A hop that is no address is refused; for limits the proxy counts instead. No header says what answers.
    const client = request.ips?.at(-1) ?? request.ip;
    if (!isForProcess && networks?.includes(client) === false) return reply.code(403).send();
    void reply.headers(SAFE_HEADERS).header('x-request-id', request.id);
    return isForProcess ? undefined : guard(request, reply, url.origins);
  });
  addConsoleRoutes(app);
  fastify.all('/api/*', (request, reply) => {
    sendConsoleError(request, reply, appError('NOT_FOUND', { message: 'There is no such route.' }));
    return reply;
  });
  addPageFiles(fastify, pageFolder);
}

/** Refuses other hosts, and below `/api` requests of other pages, before the body is read. */
function guard(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): FastifyReply | undefined {
  const isApi = isBelowApi(request);
  if (isApi) void reply.header('cache-control', 'no-store');
  const hostRefusal = isOwnHost(request.headers.host, origins)
    ? undefined
    : `The console answers at ${origins[0] ?? ''} only (GATEPOST_CONSOLE_URL).`;
  if (!isApi) {
    if (hostRefusal === undefined) return undefined;
    return reply.code(403).type('text/plain; charset=utf-8').send(`${hostRefusal}\n`);
  }
  const refusal = hostRefusal ?? refusalOf(request, origins);
  if (refusal === undefined) return undefined;
  sendConsoleError(request, reply, appError('FORBIDDEN', { message: refusal }));
  return reply;
}

/** Another name that resolves to the console is an attack by DNS rebinding, or a mistake. */
function isOwnHost(host: string | undefined, origins: readonly string[]): boolean {
  return host !== undefined && origins.some((origin) => new URL(origin).host === host.toLowerCase());
}

/** Other sites can neither act nor probe, nor can pages on other ports of the same host, which `SameSite` cookies would let in. */
function refusalOf({ method, headers }: FastifyRequest, origins: readonly string[]): string | undefined {
  const fetchSite = headers['sec-fetch-site'];
  if (fetchSite === undefined) return 'The browser sends no Sec-Fetch-Site header. Use a newer browser.';
  if (fetchSite !== 'same-origin') return 'The request comes from another site.';
  // Styles and images of a mail that the page shows must not ask for anything.
  if ((headers['sec-fetch-dest'] ?? 'empty') !== 'empty') return 'Only scripts of the page can call the API.';
  return method === 'GET' || method === 'HEAD' ? undefined : refusalOfChange(headers, origins);
}

function refusalOfChange(headers: FastifyRequest['headers'], origins: readonly string[]): string | undefined {
  if (headers.origin === undefined || !origins.includes(headers.origin))
    return 'The request comes from another origin.';
  if (headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json')
    return 'The content type must be application/json.';
  // A page of another origin cannot send it without a preflight, which fails.
  return headers['x-gatepost-console'] === '1' ? undefined : 'The header X-Gatepost-Console is missing.';
}

/** The matched route decides, not the URL: an escaped URL reaches the same route. The callback comes from the issuer, and its reply is the page. */
function isBelowApi({ routeOptions: { url = '' }, method }: FastifyRequest): boolean {
  const isCallback = url === CALLBACK_PATH && (method === 'GET' || method === 'HEAD');
  return url.startsWith('/api/') && !isCallback;
}

export function addPageFiles(fastify: FastifyInstance, folder: string): void {
  const files = filesIn(join(folder, 'assets'));
  const index = join(folder, 'index.html');
  const html = existsSync(index) ? readFileSync(index, 'utf8') : undefined;
  fastify.get('/assets/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    return files.has(name) ? sendFile(request, reply, { name, files }) : reply.code(404).send('There is no such file.');
  });
  // The browser comes from the issuer: the page sends the next request, as the console's own.
  fastify.get(CALLBACK_PATH, (_, reply) => sendPage(reply, html));
  fastify.get('/*', (_, reply) => sendPage(reply, html));
}

/** In memory, 2 MB: else each response that a client does not read would keep a file open. */
function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
}

function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { name, files }: { name: string; files: ReadonlyMap<string, Buffer> },
): FastifyReply {
  const accepted = headers['accept-encoding'] ?? '';
  const variant = ENCODINGS.find(([encoding, ending]) => accepted.includes(encoding) && files.has(`${name}${ending}`));
  if (variant !== undefined) void reply.header('content-encoding', variant[0]);
  return reply
    .header('content-type', MEDIA_TYPES[extname(name)] ?? 'application/octet-stream')
    .header('cache-control', HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .send(files.get(`${name}${variant?.[1] ?? ''}`));
}

/** The nonce is new for each reply: only the styles of this page carry it. */
function sendPage(reply: FastifyReply, html: string | undefined): FastifyReply {
  const nonce = randomBytes(16).toString('base64url');
  void reply.headers({
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyFor(nonce),
  });
  if (html === undefined) return reply.code(503).send('The page of the console is not built. Run: npm run build');
  return reply.send(html.replace(NONCE_PLACEHOLDER, nonce));
}

function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
