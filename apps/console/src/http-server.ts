import { randomUUID } from 'node:crypto';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddressOf } from '#admission';
import { ARRIVAL_TIMES, parseJson } from '#bootstrap';
import { appError } from '#errors';
import { CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from './console.config.js';
import { addConsoleRoutes, sendConsoleError } from './http/console-router.js';
import { addPageFiles, SAFE_HEADERS } from './http/page-files.js';
import { isOwnHost, refusalOf } from './http/request.rules.js';
import { CALLBACK_PATH } from './operators/issuer.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** From `X-Forwarded-For` only as far as the proxies are trusted. */
    clientAddress: string;
  }
}

const BODY_LIMIT_BYTES = 1_048_576;
/** Ids of passkeys have up to 1,023 bytes (WebAuthn Level 3, section 4), in base64url 1,364 characters. */
const MAX_PARAM_LENGTH = 1_364;
/** For orchestrators and Prometheus, which call the process by its address. */
const PROCESS_PATHS = new Set(['/healthz', '/readyz', '/metrics']);

export function createConsoleServer({ trustedProxies }: ConsoleConfig): FastifyAdapter {
  return new FastifyAdapter({
    ...ARRIVAL_TIMES,
    bodyLimit: BODY_LIMIT_BYTES,
    return503OnClosing: false,
    skipMiddie: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    requestIdHeader: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: () => randomUUID(),
  });
}

export function prepareConsoleServer(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const url = app.get(PublicUrl);
  const { pageFolder } = app.get<ConsoleConfig>(CONSOLE_CONFIG);
  app.getHttpServer().on('listening', () => {
    url.listensOn((app.getHttpServer().address() as { port: number }).port);
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
    void reply.headers(SAFE_HEADERS).header('x-request-id', request.id);
    return PROCESS_PATHS.has(request.routeOptions.url ?? '') ? undefined : guard(request, reply, url.origins);
  });
  addConsoleRoutes(app);
  fastify.all('/api/*', (request, reply) => {
    sendConsoleError(request, reply, appError('NOT_FOUND', { message: 'There is no such route.' }));
    return reply;
  });
  addPageFiles(app, pageFolder);
}

/** Refuses other hosts, and below `/api` requests of other pages, before the body is read. */
function guard(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): FastifyReply | undefined {
  const { headers, method } = request;
  const isApi = isBelowApi(request);
  if (isApi) void reply.header('cache-control', 'no-store');
  const own = isOwnHost(headers.host, origins)
    ? undefined
    : `The console answers at ${origins[0] ?? ''} only (GATEPOST_CONSOLE_URL).`;
  if (!isApi) {
    return own === undefined ? undefined : reply.code(403).type('text/plain; charset=utf-8').send(`${own}\n`);
  }
  const head = {
    method,
    fetchSite: textOf(headers['sec-fetch-site']),
    fetchDest: textOf(headers['sec-fetch-dest']),
    origin: headers.origin,
    contentType: headers['content-type'],
    marker: textOf(headers['x-gatepost-console']),
  };
  const refusal = own ?? refusalOf(head, origins);
  if (refusal === undefined) return undefined;
  sendConsoleError(request, reply, appError('FORBIDDEN', { message: refusal }));
  return reply;
}

/** The matched route decides, not the URL: an escaped URL reaches the same route. The callback comes from the issuer, and its reply is the page. */
function isBelowApi({ routeOptions: { url = '' }, method }: FastifyRequest): boolean {
  const isCallback = url === CALLBACK_PATH && (method === 'GET' || method === 'HEAD');
  return url.startsWith('/api/') && !isCallback;
}

function textOf(value: string[] | string | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
