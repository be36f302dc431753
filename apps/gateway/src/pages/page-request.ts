import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { acceptedLanguages } from '../http/accepted-languages.js';
import { linkTokenOf } from '../http/request.decorators.js';
import type { FormFields } from './form-body.js';
import { ENGLISH } from './page-texts.en.js';
import type { PageTexts } from './page-texts.js';
import { CHINESE } from './page-texts.zh.js';

const PAGES_PREFIX = '/pages/';
/** Enough for a token and two passwords. */
const MAX_FORM_BYTES = 8_192;
const BY_LANGUAGE: ReadonlyMap<string, PageTexts> = new Map([
  ['en', ENGLISH],
  ['zh', CHINESE],
]);

/** A request for a page of a mailed link. */
export interface PageRequest {
  /** The token of the mailed link: from the URL, and from the form where it is one. */
  readonly token: string;
  readonly texts: PageTexts;
  /** The languages of the browser, for mails that the request leads to. */
  readonly languages: readonly string[];
}

/** A request that sends the form of a page. */
export interface FormRequest extends PageRequest {
  readonly fields: FormFields;
}

export const OpenedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { ...readerOf(request), token: linkTokenOf((request.query as { token?: unknown }).token) };
});

export const SentForm = createParamDecorator((_: unknown, context: ExecutionContext): FormRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  // An empty body is a form without fields.
  const fields = request.body instanceof Map ? (request.body as FormFields) : new Map<string, string>();
  return { ...readerOf(request), token: linkTokenOf(fields.get('token')), fields };
});

/** The languages of a browser, and the texts in the best of them. */
export function readerOf({ headers }: Pick<FastifyRequest, 'headers'>): Pick<PageRequest, 'texts' | 'languages'> {
  const languages = acceptedLanguages(headers['accept-language']);
  return { languages, texts: textsIn(languages) };
}

/** The texts in the first of the languages that has some, else in English. @param languages tags, the best one first */
export function textsIn(languages: readonly string[]): PageTexts {
  const known = languages.map((tag) => BY_LANGUAGE.get(tag.split('-', 1)[0]?.toLowerCase() ?? ''));
  return known.find((texts) => texts !== undefined) ?? ENGLISH;
}

/** Whether a request is for a page. The matched route decides: an escaped URL reaches the same route. */
export function isForPage({ routeOptions, url }: Pick<FastifyRequest, 'routeOptions' | 'url'>): boolean {
  return isPageUrl(routeOptions.url ?? url);
}

/** Limits the bodies of pages to what their forms can hold. */
export function limitForms(app: NestFastifyApplication): void {
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', (route) => {
      if (isPageUrl(route.url)) route.bodyLimit = MAX_FORM_BYTES;
    });
}

function isPageUrl(url: string): boolean {
  return url.startsWith(PAGES_PREFIX);
}
