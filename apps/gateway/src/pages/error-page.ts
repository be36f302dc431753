import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '#errors';
import { markup } from '../html/markup.js';
import { readerOf } from './page-request.js';
import { sendPage } from './page-reply.js';
import type { PageTexts } from './page-texts.js';

const PAGES_PREFIX = '/pages/';
const FAILURES: Readonly<Partial<Record<number, keyof PageTexts['failures']>>> = {
  400: 'malformed',
  404: 'notFound',
  413: 'malformed',
  429: 'tooManyRequests',
  503: 'unavailable',
};

/** Whether a request is for a page. The route decides, where there is one: an escaped URL reaches the same route. */
export function isForPage({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  return isPageUrl(routeOptions.url ?? url);
}

/** Whether a route is one of pages. */
export function isPageUrl(url: string): boolean {
  return url.startsWith(PAGES_PREFIX);
}

/** Answers with an error so that people can read it, wherever in a request's way it came up. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: AppError): void {
  const { status, retryAfterSeconds } = error;
  const { texts } = readerOf(request);
  const failure = FAILURES[status] ?? 'internal';
  const { title, lead } = texts.failures[failure];
  const sign = failure === 'tooManyRequests' || failure === 'unavailable' ? 'waiting' : 'trouble';
  sendPage(reply, { status, retryAfterSeconds, sign, title, content: markup`<p class="lead">${lead}</p>` }, texts);
}
