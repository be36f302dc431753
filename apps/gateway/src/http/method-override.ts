import type { IncomingMessage } from 'node:http';
import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asJsonObject } from '#bootstrap';
import type { JsonObject } from '#contracts';
import { appError } from '#errors';
import { readCredentials } from './credentials.js';
import { dispatch, methodOf, type SubRequest } from './sub-request.js';

export const OVERRIDE_PATH = '/method-override';
/** Members of the body that replace headers. */
const BODY_CREDENTIALS: Readonly<Record<string, string>> = {
  _ApplicationId: 'x-lc-id',
  _ApplicationKey: 'x-lc-key',
  _MasterKey: 'x-avoscloud-master-key',
  _SessionToken: 'x-lc-session',
  _ApplicationProduction: 'x-lc-prod',
};
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/;

/**
 * Browsers that cannot send custom headers POST `text/plain` and put method and credentials into the body. Such a request
 * is routed to the controller below, which dispatches the request that the body describes.
 */
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

/** Only rewritten requests may reach the route below: a client that requested its path would cause an endless loop. */
const overridden = new WeakSet<IncomingMessage>();

@Controller()
export class MethodOverrideController {
  /** Dispatches the request through the same routes, hooks and checks as every request. */
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
