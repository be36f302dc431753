import type { FastifyInstance, FastifyRequest } from 'fastify';
import { beginTrace, isTracing, type OpenSpan } from '#observability';
import { originsOf } from './sub-request.js';

/** Monitoring requests these routes every few seconds; a trace of them is of no use. */
const MONITORING_ROUTES = new Set(['/healthz', '/readyz', '/metrics']);
const SERVER_ERROR = 500;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set only while tracing is enabled. */
    span?: OpenSpan | undefined;
  }
}

/**
 * Begins a trace with each request. A client's `traceparent` is ignored: the client could otherwise decide what is recorded,
 * and join requests of other clients to its trace.
 */
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
