import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddressOf } from '#admission';
import type { Caller } from '#contracts';
import { Metrics } from '#observability';
import { Authenticator } from './authenticator.js';
import { readCredentials } from './credentials.js';
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
  const authenticator = app.get(Authenticator);
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
    if (mustSignNow(request)) request.caller = await authenticator.authenticate(request);
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

function labelsOf(request: FastifyRequest, reply: FastifyReply): { method: string; route: string; status: string } {
  return { method: request.method, route: request.routeOptions.url ?? 'unknown', status: String(reply.statusCode) };
}
