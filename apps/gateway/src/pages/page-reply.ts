import { HttpStatus } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '#errors';
import { contentSecurityPolicy } from '../html/html-template.js';
import { readerOf } from './page-request.js';
import { PAGE_STYLE, renderPage } from './page-template.js';
import type { PageTexts } from './page-texts.js';
import { messageView, type PageView } from './page-views.js';

/** Pages contain a token: they are not cached, not shown in frames, and send no referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy(PAGE_STYLE),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'Accept-Language',
};
/** CORS headers of the API: scripts of other origins may not read a page. */
const API_ONLY_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers'];

/** Sends a page as response. */
export function sendPage(reply: FastifyReply, view: PageView, texts: PageTexts): void {
  for (const name of API_ONLY_HEADERS) void reply.removeHeader(name);
  void reply.headers({ ...HEADERS, 'content-language': texts.language });
  if (view.retryAfterSeconds !== undefined) void reply.header('retry-after', String(view.retryAfterSeconds));
  void reply.code(view.status ?? HttpStatus.OK).send(renderPage(view, texts));
}

const FAILURES: Readonly<Partial<Record<number, keyof PageTexts['failures']>>> = {
  400: 'malformed',
  404: 'notFound',
  413: 'malformed',
  429: 'tooManyRequests',
  503: 'unavailable',
};

/** Sends a page that describes the error. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: AppError): void {
  const { status, retryAfterSeconds } = error;
  const { texts } = readerOf(request);
  const failure = FAILURES[status] ?? 'internal';
  const icon = failure === 'tooManyRequests' || failure === 'unavailable' ? 'waiting' : 'trouble';
  sendPage(reply, { status, retryAfterSeconds, icon, ...messageView(texts.failures[failure]) }, texts);
}
