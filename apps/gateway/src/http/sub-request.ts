import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { inject, type Response } from 'light-my-request';
import type { JsonObject, JsonValue } from '#contracts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
type Method = (typeof METHODS)[number];

/** A request that another one stands for, or holds. */
export interface SubRequest {
  readonly method: Method;
  /** Path, perhaps with a query. */
  readonly url: string;
  /** Added to the query; what is no text becomes JSON. */
  readonly params?: JsonObject;
  /** Not sent with GET. */
  readonly body?: JsonValue;
  /** Sent besides the headers of the request that it comes from. */
  readonly headers?: IncomingHttpHeaders;
}

/** Whether the API knows requests with this method. */
export function isMethod(value: unknown): value is Method {
  return METHODS.some((method) => method === value);
}

/** Which request sent another one on. */
const origins = new WeakMap<IncomingMessage, FastifyRequest>();

/** The requests that sent this one on, the nearest first; none where a client sent it itself. */
export function originsOf({ raw }: FastifyRequest): FastifyRequest[] {
  const origin = origins.get(raw);
  return origin === undefined ? [] : [origin, ...originsOf(origin)];
}

/**
 * Sends a request on through the same routes, hooks and checks that every request passes, with the credentials, the id and
 * the client address of the one that it comes from.
 */
export function dispatch(
  origin: FastifyRequest,
  { method, url, params, body, headers }: SubRequest,
): Promise<Response> {
  // Not Fastify's own inject: that refuses as soon as the server drains, in the middle of a batch.
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

/** The client's address goes along by itself, so nothing behind has to believe a header once more. */
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

/** Parameters as a URL has them: what is no text becomes JSON. */
export function queryOf(params: JsonObject): Record<string, string> {
  const textOf = (value: JsonValue) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, textOf(value)]));
}
