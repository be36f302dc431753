import type { IncomingMessage } from 'node:http';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ARRIVAL_TIMES, fromHttp, parseJsonBody } from '#bootstrap';
import { addForwarding } from './forwarding/forwarder.js';
import type { GatewayConfig } from './gateway.config.js';
import { CREDENTIAL_HEADERS } from './http/credentials.js';
import { respondToUnreadable, sendError } from './http/error.filter.js';
import {
  addRateLimits,
  addRequestHooks,
  headersOf,
  requestIdOf,
  traceRequests,
  warnOfUnknownProxy,
} from './http/request-hooks.js';
import { routeMethodOverride } from './http/sub-request.js';
import { refuseUndescribedRoutes } from './openapi/routed-endpoints.js';
import { isForPage, limitForms, parseFormBody } from './pages/page-request.js';

const PREFLIGHT_MAX_AGE_SECONDS = 86_400;
/** Longer than the idle timeout of common load balancers, so that the load balancer closes the connection first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** The path of a deletion can contain 200 ids of 64 characters. Node.js refuses longer heads of requests. */
const MAX_PARAM_LENGTH = 16_384;
const CORS_HEADERS = [
  'Content-Type',
  'Origin',
  ...CREDENTIAL_HEADERS,
  'X-LC-UA',
  'X-AVOSCloud-Client-Version',
  'X-Uluru-Client-Version',
  'X-LC-IM-Session-Token',
  'X-Request-Id',
];
const EXPOSED_HEADERS = [
  'Location',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Request-Id',
];
const CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED_HEADERS.join(', ') };

export function createHttpServer({ bodyLimitBytes, trustedProxies }: GatewayConfig): FastifyAdapter {
  return new FastifyAdapter({
    ...ARRIVAL_TIMES,
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    clientErrorHandler: respondToUnreadable,
    return503OnClosing: false,
    skipMiddie: true,
    requestIdHeader: false,
    // X-Forwarded-For is read from its end, and only as far as trusted proxies wrote it.
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: requestIdOf,
    rewriteUrl: (request: IncomingMessage) => (isMalformedPreflight(request) ? '/' : routeMethodOverride(request)),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // No hook has run: a browser would hide the error from pages of other origins.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.headers({ ...headersOf(request), ...CORS });
      sendError(reply, fromHttp(error));
    },
  });
}

/** Its answer depends on no path; the request that follows gets the error. */
function isMalformedPreflight({ method, url = '/' }: IncomingMessage): boolean {
  if (method !== 'OPTIONS') return false;
  try {
    decodeURI(url);
    return false;
  } catch {
    return true;
  }
}

export function prepareHttpServer(app: NestFastifyApplication): void {
  app.enableCors({
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'],
    allowedHeaders: CORS_HEADERS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    strictPreflight: false,
  });
  const fastify = app.getHttpAdapter().getInstance();
  fastify.removeAllContentTypeParsers();
  // The content type is ignored: a body of the API is always JSON. Pages accept forms only.
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    try {
      done(null, isForPage(request) ? parseFormBody(body, request.headers['content-type']) : parseJsonBody(body));
    } catch (error) {
      done(error as Error);
    }
  });
  traceRequests(fastify);
  warnOfUnknownProxy(app);
  addRequestHooks(app);
  addRateLimits(app);
  addForwarding(app);
  limitForms(app);
  refuseUndescribedRoutes(app);
}
