import { HttpStatus } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { contentSecurityPolicy } from '../html/content-security-policy.js';
import { renderPageDocument } from './page-document.js';
import { PAGE_STYLE } from './page-style.js';
import type { PageTexts } from './page-texts.js';
import type { PageView } from './page-view.js';

/** Pages carry a token: they are kept nowhere, shown in no frame, and tell no other page where somebody came from. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy(PAGE_STYLE, "'self'"),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'Accept-Language',
};
/** What the API lets pages of other origins read; these pages are for people. */
const API_ONLY_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers'];

/** Answers with a page. */
export function sendPage(reply: FastifyReply, view: PageView, texts: PageTexts): void {
  for (const name of API_ONLY_HEADERS) void reply.removeHeader(name);
  void reply.headers({ ...HEADERS, 'content-language': texts.language });
  if (view.retryAfterSeconds !== undefined) void reply.header('retry-after', String(view.retryAfterSeconds));
  void reply.code(view.status ?? HttpStatus.OK).send(renderPageDocument(view, texts));
}
