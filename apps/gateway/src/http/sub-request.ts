import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { inject, type Response } from 'light-my-request';
import { asJsonObject } from '#bootstrap';
import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { readCredentials } from './credentials.js';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
type Method = (typeof METHODS)[number];

/** A request that a batch contains, or that a method override replaces. */
export interface SubRequest {
  readonly method: Method;
  readonly url: string;
  /** Added to the query; values other than strings are sent as JSON. */
  readonly params?: JsonObject;
  readonly body?: JsonValue;
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

/** Through the same routes, hooks and checks as every request, with the credentials, the id and the client address of the original. */
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

export function queryOf(params: JsonObject): Record<string, string> {
  const textOf = (value: JsonValue) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, textOf(value)]));
}

export const OVERRIDE_PATH = '/method-override';
const BODY_CREDENTIALS: Readonly<Record<string, string>> = {
  _ApplicationId: 'x-lc-id',
  _ApplicationKey: 'x-lc-key',
  _MasterKey: 'x-avoscloud-master-key',
  _SessionToken: 'x-lc-session',
  _ApplicationProduction: 'x-lc-prod',
};
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/;

/** Browsers that cannot send custom headers POST `text/plain` with method and credentials in the body: routed to the controller below. */
export function routeMethodOverride(request: IncomingMessage): string {
  if (!isOverride(request)) return request.url ?? '/';
  overridden.add(request);
  return OVERRIDE_PATH;
}

/** A body whose client sends its credentials in headers has no form: it may be a file of plain text, or have members with `_`. */
function isOverride({ method, headers }: IncomingMessage): boolean {
  if (method !== 'POST' || !/^text\/plain\b/i.test(headers['content-type'] ?? '')) return false;
  return readCredentials(headers) === undefined;
}

/** Only rewritten requests reach the route: a client that requested its path would cause an endless loop. */
const overridden = new WeakSet<IncomingMessage>();

@Controller()
export class MethodOverrideController {
  @Post(OVERRIDE_PATH)
  async dispatch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (!overridden.has(request.raw)) throw appError('NOT_FOUND');
    if (!URL.canParse(request.originalUrl, 'http://localhost'))
      throw appError('MALFORMED_JSON', { message: 'The URL is malformed.' });
    const response = await dispatch(request, overriddenRequest(request));
    for (const [name, value] of Object.entries(response.headers)) {
      if (value !== undefined && name !== 'content-length' && name !== 'connection') void reply.header(name, value);
    }
    void reply.code(response.statusCode).send(response.rawPayload);
  }
}

function overriddenRequest(request: FastifyRequest): SubRequest {
  const body = asJsonObject(request.body);
  const method = methodOf(body['_method'] ?? 'POST');
  if (method === undefined) throw appError('MALFORMED_JSON', { message: 'Unknown _method.' });
  const fields = Object.fromEntries(Object.entries(body).filter(([key]) => !key.startsWith('_')));
  const headers = credentialHeaders(body);
  return { method, url: request.originalUrl, headers, ...(method === 'GET' ? { params: fields } : { body: fields }) };
}

function credentialHeaders(body: JsonObject): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [member, header] of Object.entries(BODY_CREDENTIALS)) {
    const value = typeof body[member] === 'number' ? String(body[member]) : body[member];
    if (typeof value === 'string' && HEADER_VALUE.test(value)) found[header] = value;
  }
  return found;
}
