import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { inject, type Response } from 'light-my-request';
import type { JsonObject, JsonValue } from '#contracts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
type Method = (typeof METHODS)[number];

/** A request that a batch contains, or that a method override replaces. */
export interface SubRequest {
  readonly method: Method;
  /** Path with an optional query. */
  readonly url: string;
  /** Added to the query; values other than strings are sent as JSON. */
  readonly params?: JsonObject;
  /** Ignored for GET. */
  readonly body?: JsonValue;
  /** Added to the headers of the original request. */
  readonly headers?: IncomingHttpHeaders;
}

/** The method that a text names, in any case: the Swift SDK sends `post`. @returns undefined for what is no method of the API */
export function methodOf(value: unknown): Method | undefined {
  const name = typeof value === 'string' ? value.toUpperCase() : undefined;
  return METHODS.find((method) => method === name);
}

const origins = new WeakMap<IncomingMessage, FastifyRequest>();

/** The requests that led to this one, the nearest first; none for a request that a client sent. */
export function originsOf({ raw }: FastifyRequest): FastifyRequest[] {
  const origin = origins.get(raw);
  return origin === undefined ? [] : [origin, ...originsOf(origin)];
}

/**
 * Sends a request through the same routes, hooks and checks as every request of a client, with the credentials, the id and
 * the client address of the original request.
 */
export function dispatch(
  origin: FastifyRequest,
  { method, url, params, body, headers }: SubRequest,
): Promise<Response> {
  // Fastify's own inject fails as soon as the server drains, which would break off a batch.
  const handle = (raw: IncomingMessage, response: ServerResponse): void => {
    origins.set(raw, origin);
    origin.server.routing(raw, response);
  };
  return inject(handle, {
    method,
    url: withQuery(url, params ?? {}),
    headers: { ...headersFrom(origin), ...headers },
    remoteAddress: origin.clientAddress,
    ...(method === 'GET' || body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
}

/** Without `X-Forwarded-For`: the client's address is passed on as the remote address, so no header needs to be trusted again. */
function headersFrom({ headers, id }: FastifyRequest): IncomingHttpHeaders {
  const {
    connection: _connection,
    'content-length': _length,
    'transfer-encoding': _encoding,
    'x-forwarded-for': _forwarded,
    ...kept
  } = headers;
  return { ...kept, 'content-type': 'application/json', 'x-request-id': id };
}

function withQuery(url: string, params: JsonObject): string {
  const query = new URLSearchParams(queryOf(params));
  if (query.size === 0) return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** Parameters as texts of a URL; values other than strings become JSON. */
export function queryOf(params: JsonObject): Record<string, string> {
  const textOf = (value: JsonValue) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, textOf(value)]));
}
