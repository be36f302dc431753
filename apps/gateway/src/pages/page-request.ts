import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { appError } from '#errors';
import { acceptedLanguages, linkTokenOf } from '../http/request.decorators.js';
import { ENGLISH, type PageTexts, type PasswordMistake } from './page-texts.en.js';
import { CHINESE } from './page-texts.zh.js';

type FormFields = ReadonlyMap<string, string>;

const MEDIA_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const MAX_FIELDS = 16;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The minimum for passwords that people choose (NIST SP 800-63B). The API itself accepts shorter ones. */
export const MIN_PASSWORD_LENGTH = 8;

export interface PasswordMistakes {
  readonly password?: PasswordMistake;
  readonly isDifferent?: boolean;
}

const PAGES_PREFIX = '/pages/';
/** Enough for a token and two passwords. */
const MAX_FORM_BYTES = 8_192;
const BY_LANGUAGE: ReadonlyMap<string, PageTexts> = new Map([
  ['en', ENGLISH],
  ['zh', CHINESE],
]);

export interface PageRequest {
  /** The token of the mailed link: from the URL, and from the form where it is one. */
  readonly token: string;
  readonly texts: PageTexts;
  /** The languages of the browser, for mails that the request leads to. */
  readonly languages: readonly string[];
}

export interface FormRequest extends PageRequest {
  readonly fields: FormFields;
}

export const OpenedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { ...readerOf(request), token: linkTokenOf((request.query as { token?: unknown }).token) };
});

export const SentForm = createParamDecorator((_: unknown, context: ExecutionContext): FormRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const fields = request.body instanceof Map ? (request.body as FormFields) : new Map<string, string>();
  return { ...readerOf(request), token: linkTokenOf(fields.get('token')), fields };
});

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

/** Strictly: a password that is decoded differently would lock the user out. @throws AppError MALFORMED_JSON */
export function parseFormBody(bytes: Buffer, contentType: string | undefined): FormFields {
  if (contentType === undefined || !MEDIA_TYPE.test(contentType)) throw malformed();
  const parts = decoded(() => utf8.decode(bytes))
    .split('&')
    .filter((part) => part !== '');
  const fields = new Map(parts.slice(0, MAX_FIELDS).map(fieldOf));
  // A field that occurs twice, or too many fields, leave fewer names than parts.
  if (fields.size !== parts.length) throw malformed();
  return fields;
}

function fieldOf(part: string): [name: string, value: string] {
  const end = part.includes('=') ? part.indexOf('=') : part.length;
  return [unescaped(part.slice(0, end)), unescaped(part.slice(end + 1))];
}

function unescaped(text: string): string {
  return decoded(() => decodeURIComponent(text.replaceAll('+', ' ')));
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw malformed();
  }
}

function malformed(): Error {
  return appError('MALFORMED_JSON', { message: 'The form is malformed.' });
}

export function newPasswordOf(fields: FormFields): { password: string; repeat: string } {
  return { password: fields.get('password') ?? '', repeat: fields.get('repeat') ?? '' };
}

export function mistakesIn(fields: FormFields): PasswordMistakes | undefined {
  const { password, repeat } = newPasswordOf(fields);
  if (password.trim() === '') return { password: 'missing' };
  if (Array.from(password).length < MIN_PASSWORD_LENGTH) return { password: 'tooShort' };
  return password === repeat ? undefined : { isDifferent: true };
}
