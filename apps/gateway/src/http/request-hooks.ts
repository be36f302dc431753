import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { clientAddressOf, clientNetworkOf, FailedCredentialLimit } from '#admission';
import type { Caller } from '#contracts';
import { appError } from '#errors';
import { beginTrace, isTracing, Metrics, type OpenSpan, ProcessInfo } from '#observability';
import { RequestLimits } from '../rate-limits/request-limits.js';
import { readCredentials, readSessionToken, verifyCredentials } from './credentials.js';
import { acceptedLanguages } from './request.decorators.js';
import { originsOf, OVERRIDE_PATH } from './sub-request.js';

const API_PREFIX = '/1.1/';
const OPEN_ROUTES = new Set([
  '/1.1/ping',
  '/1.1/date',
  // A page of an application has the token of the mailed link, and no key.
  '/1.1/verifyEmail/:token',
  '/1.1/resetPassword/:token',
]);
/** Networks of the operator's own proxies; public clients do not connect from them. */
const INNER_NETWORKS = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);
const NO_CACHE = { 'cache-control': 'no-cache,no-store', pragma: 'no-cache' };
const REQUEST_ID = /^[\w-]{8,64}$/;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every request below /1.1 that needs application credentials. */
    caller?: Caller;
    /** The address of the client, taken from `X-Forwarded-For` only as far as the proxies are trusted. */
    clientAddress: string;
    span?: OpenSpan | undefined;
  }
}

export function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** What every answer has, also one before any hook. */
export function headersOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return { 'x-request-id': request.id, ...(isApi(request) ? NO_CACHE : {}) };
}

export function addRequestHooks(app: NestFastifyApplication): void {
  const failedCredentials = app.get(FailedCredentialLimit);
  const metrics = app.get(Metrics);
  const fastify = app.getHttpAdapter().getInstance();

  fastify.addHook('onRequest', (request, reply, done) => {
    // Read now: the address is no longer available once the connection is closed.
    request.clientAddress = clientAddressOf(request);
    void reply.headers(headersOf(request));
    // Fastify refuses a content type that it cannot parse; that of the API is ignored.
    const { headers } = request;
    if (headers['content-type'] !== undefined && request.mediaType === undefined) delete headers['content-type'];
    done();
  });
  fastify.addHook('onRequest', async (request) => {
    if (needsCredentials(request)) request.caller = await authenticate(request, failedCredentials);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    metrics.httpRequests.observe(labelsOf(request, reply), reply.elapsedTime / 1000);
    done();
  });
}

/** The matched route determines the groups, so escaped URLs, method override and batches cannot bypass a limit. */
export function addRateLimits(app: NestFastifyApplication): void {
  const limits = app.get(RequestLimits);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRequest', async (request, reply) => {
    const { url, config } = request.routeOptions;
    // A method override counts when the request that it describes is dispatched.
    if (url !== OVERRIDE_PATH) await limits.count(request, reply, config.rateLimitGroups);
  });
  fastify.addHook('preHandler', (request, reply, done) => {
    const groups = request.routeOptions.config.rateLimitGroupsOf?.(request.body) ?? [];
    if (groups.length === 0) done();
    else
      limits.countFurther(request, reply, groups).then(() => {
        done();
      }, done);
  });
}

/** Warns once, because all clients behind such a proxy share the limits of one address. A header from a public network is ignored. */
export function warnOfUnknownProxy(app: NestFastifyApplication): void {
  const logger = new Logger('Proxy');
  let hasWarned = false;
  app.get(ProcessInfo).setting('hasUnknownProxy', () => hasWarned);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, _reply, done) => {
      if (!hasWarned && isByUnknownProxy(request)) {
        hasWarned = true;
        logger.warn(
          'A proxy in your network sends X-Forwarded-For, but GATEPOST_TRUSTED_PROXIES does not name it: all its clients count as one address.',
        );
      }
      done();
    });
}

/** The matched route decides, not the text of the URL: an escaped URL reaches the same route. */
function isApi({ routeOptions, url }: FastifyRequest): boolean {
  return (routeOptions.url ?? url).startsWith(API_PREFIX);
}

/** Whether credentials are verified before the body is read. The body of a method override may contain them instead. */
function needsCredentials(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? '';
  if (route === OVERRIDE_PATH) return readCredentials(request.headers) !== undefined;
  return isApi(request) && !OPEN_ROUTES.has(route);
}

/** @throws AppError UNAUTHORIZED where the credentials are missing or wrong, TOO_MANY_REQUESTS where they were wrong too often */
async function authenticate(
  { id, headers, clientAddress }: FastifyRequest,
  failedCredentials: FailedCredentialLimit,
): Promise<Caller> {
  const credentials = readCredentials(headers);
  if (credentials === undefined) throw appError('UNAUTHORIZED');
  const network = clientNetworkOf(clientAddress);
  const application = await failedCredentials.find(credentials.appId, network);
  if (application === null) throw appError('UNAUTHORIZED');
  const signature = verifyCredentials(credentials, application);
  if (signature === undefined) throw failedCredentials.refusal(network);
  const sessionToken = readSessionToken(headers);
  const languages = acceptedLanguages(headers['accept-language']);
  return {
    requestId: id,
    appId: application.id,
    isMaster: signature === 'master',
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(languages.length === 0 ? {} : { languages: [...languages] }),
  };
}

function labelsOf(request: FastifyRequest, reply: FastifyReply): { method: string; route: string; status: string } {
  const route = request.isForwarded === true ? 'forwarded' : (request.routeOptions.url ?? 'unknown');
  return { method: request.method, route, status: String(reply.statusCode) };
}

/** Behind a trusted proxy, `ips` has more entries than the address of the connection. */
export function isByUnknownProxy({ headers, ip, ips = [ip] }: Pick<FastifyRequest, 'headers' | 'ip' | 'ips'>): boolean {
  if (headers['x-forwarded-for'] === undefined || ips.length > 1 || !ipaddr.isValid(ip)) return false;
  return INNER_NETWORKS.has(ipaddr.process(ip).range());
}

/** Monitoring requests these routes every few seconds; a trace of them is of no use. */
const MONITORING_ROUTES = new Set(['/healthz', '/readyz', '/metrics']);
const SERVER_ERROR = 500;

/** A client's `traceparent` is ignored: it could decide what is recorded, and join requests of other clients to its trace. */
export function traceRequests(fastify: FastifyInstance): void {
  if (!isTracing()) return;
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.span = begin(request);
    within(request, done);
  });
  // Reading the body loses the context of the request: its events belong to the connection.
  fastify.addHook('preValidation', (request, _reply, done) => {
    within(request, done);
  });
  fastify.addHook('onResponse', (request, { statusCode }, done) => {
    const appId = request.caller?.appId;
    const attributes = {
      'http.response.status_code': statusCode,
      ...(appId !== undefined && { 'gatepost.app.id': appId }),
    };
    request.span?.end(attributes, statusCode >= SERVER_ERROR);
    done();
  });
}

/** Names the span by the route, because a URL can contain tokens and addresses. */
function begin(request: FastifyRequest): OpenSpan | undefined {
  const { method } = request;
  const route = request.routeOptions.url ?? 'unknown';
  if (MONITORING_ROUTES.has(route)) return undefined;
  return beginTrace({
    name: `${method} ${route}`,
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': route, 'gatepost.request.id': request.id },
    // A request within a batch belongs to the trace of the batch.
    isRoot: originsOf(request).length === 0,
  });
}

function within({ span }: FastifyRequest, work: () => void): void {
  if (span === undefined) work();
  else span.run(work);
}
