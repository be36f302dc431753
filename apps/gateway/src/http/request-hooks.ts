import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { clientAddressOf, clientNetworkOf, StrangerLimit } from '#admission';
import type { Caller } from '#contracts';
import { appError } from '#errors';
import { Metrics, ProcessFacts } from '#observability';
import { acceptedLanguages } from './accepted-languages.js';
import { judgeCredentials, readCredentials, readSessionToken } from './credentials.js';
import { OVERRIDE_PATH } from './method-override.js';

const API_PREFIX = '/1.1/';
/** What may be asked without credentials. */
const OPEN_ROUTES = new Set([
  '/1.1/ping',
  '/1.1/date',
  // The token of a mailed link is all that a page has.
  '/1.1/verifyEmail/:token',
  '/1.1/resetPassword/:token',
]);
/** Who takes nothing of an answer for so long, or for twice as long, is cut off. */
const UNREAD_TIMEOUT_MS = 30_000;
/** Networks in which a proxy of one's own stands, and from which no stranger comes. */
const INNER_NETWORKS = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);
const REQUEST_ID = /^[\w-]{8,64}$/;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set for every request below /1.1 but the open ones. */
    caller?: Caller;
    /** Where it came from, as far as that can be believed. */
    clientAddress: string;
  }
}

/** The caller's own id for the request where it is a harmless one, else a new one. */
export function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Adds what happens to every request: its id, its headers, its credentials before its body is read, its metrics. */
export function addRequestHooks(app: NestFastifyApplication): void {
  const strangers = app.get(StrangerLimit);
  const metrics = app.get(Metrics);
  const fastify = app.getHttpAdapter().getInstance();

  fastify.addHook('onRequest', (request, reply, done) => {
    // Later the connection may be gone, and its address with it.
    request.clientAddress = clientAddressOf(request);
    void reply.header('x-request-id', request.id);
    if (isApi(request)) void reply.headers({ 'cache-control': 'no-cache,no-store', pragma: 'no-cache' });
    done();
  });
  fastify.addHook('onRequest', async (request) => {
    if (mustSignNow(request)) request.caller = await authenticate(request, strangers);
  });
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    const { socket } = request.raw;
    // Only now: while an answer is made, nothing goes over the connection. Those within a batch have none of their own.
    if (socket instanceof Socket) socket.setTimeout(UNREAD_TIMEOUT_MS);
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    metrics.httpRequests.observe(labelsOf(request, reply), reply.elapsedTime / 1000);
    done();
  });
}

/**
 * Says once that requests come by a proxy which is not trusted: all clients behind it would share the limits of one. Whoever
 * comes from elsewhere with the header is no proxy, and is not believed in silence.
 */
export function warnOfUnknownProxy(app: NestFastifyApplication): void {
  const logger = new Logger('Proxy');
  let isTold = false;
  app.get(ProcessFacts).setting('hasUnknownProxy', () => isTold);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, _reply, done) => {
      if (!isTold && isByUnknownProxy(request)) {
        isTold = true;
        logger.warn(
          'A proxy in your network sends X-Forwarded-For, but GATEPOST_TRUSTED_PROXIES does not name it: all its clients count as one address.',
        );
      }
      done();
    });
}

/** The route decides, not the URL's text: an escaped URL reaches the same route. */
function isApi({ routeOptions, url }: FastifyRequest): boolean {
  return (routeOptions.url ?? url).startsWith(API_PREFIX);
}

/** Whether wrong credentials end the request before its body is read. An override may bring them in its body. */
function mustSignNow(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? '';
  if (route === OVERRIDE_PATH) return readCredentials(request.headers) !== undefined;
  return isApi(request) && !OPEN_ROUTES.has(route);
}

/** @throws AppError UNAUTHORIZED where the credentials are missing or wrong, TOO_MANY_REQUESTS where they too often were */
async function authenticate({ id, headers, clientAddress }: FastifyRequest, strangers: StrangerLimit): Promise<Caller> {
  const credentials = readCredentials(headers);
  if (credentials === undefined) throw appError('UNAUTHORIZED');
  const network = clientNetworkOf(clientAddress);
  const application = await strangers.find(credentials.appId, network);
  if (application === null) throw appError('UNAUTHORIZED');
  const signature = judgeCredentials(credentials, application);
  if (signature === undefined) throw strangers.refusal(network);
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
  return { method: request.method, route: request.routeOptions.url ?? 'unknown', status: String(reply.statusCode) };
}

/**
 * Whether the request came by a proxy in a network of one's own that is not trusted. Behind one that is, `ips` holds more than
 * the connection.
 */
export function isByUnknownProxy({ headers, ip, ips = [ip] }: Pick<FastifyRequest, 'headers' | 'ip' | 'ips'>): boolean {
  if (headers['x-forwarded-for'] === undefined || ips.length > 1 || !ipaddr.isValid(ip)) return false;
  return INNER_NETWORKS.has(ipaddr.process(ip).range());
}
