import type { FastifyInstance, FastifyRequest } from 'fastify';
import { beginTrace, isTracing, type OpenSpan } from '#observability';
import { originsOf } from './sub-request.js';

/** Asked again and again, by machines. */
const WATCHING = new Set(['/healthz', '/readyz', '/metrics']);
const SERVER_ERROR = 500;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where requests are traced. */
    span?: OpenSpan | undefined;
  }
}

/**
 * Begins a trace with each request. A client's `traceparent` is not taken: it would decide what is recorded, and could join requests of
 * others to its own.
 */
export function traceRequests(fastify: FastifyInstance): void {
  if (!isTracing()) return;
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.span = begin(request);
    within(request, done);
  });
  // A body is read on behalf of its connection, not of its request.
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

/** By its route: a URL may hold tokens and addresses. */
function begin(request: FastifyRequest): OpenSpan | undefined {
  const { method } = request;
  const route = request.routeOptions.url ?? 'unknown';
  if (WATCHING.has(route)) return undefined;
  return beginTrace({
    name: `${method} ${route}`,
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': route, 'gatepost.request.id': request.id },
    // What a batch holds belongs to its trace.
    isRoot: originsOf(request).length === 0,
  });
}

function within({ span }: FastifyRequest, work: () => void): void {
  if (span === undefined) work();
  else span.run(work);
}
