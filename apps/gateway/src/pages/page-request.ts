import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { linkTokenOf } from '../emails/link-token.js';
import { acceptedLanguages } from '../http/accepted-languages.js';
import type { FormFields } from './form-body.js';
import { textsIn } from './page-language.js';
import type { PageTexts } from './page-texts.js';

/** Who asks for a page, and by which link. */
export interface PageRequest {
  /** The token of the mailed link: from the URL, and from the form where it is one. */
  readonly token: string;
  readonly texts: PageTexts;
  /** What the browser names, for mails that the request leads to. */
  readonly languages: readonly string[];
}

/** A page's form as it was sent. */
export interface FormRequest extends PageRequest {
  readonly fields: FormFields;
}

export const AskedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { ...readerOf(request), token: linkTokenOf((request.query as { token?: unknown }).token) };
});

export const SentForm = createParamDecorator((_: unknown, context: ExecutionContext): FormRequest => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  // No body at all is a form without fields.
  const fields = request.body instanceof Map ? (request.body as FormFields) : new Map<string, string>();
  return { ...readerOf(request), token: linkTokenOf(fields.get('token')), fields };
});

/** Which texts a request shall be answered with. */
export function readerOf({ headers }: Pick<FastifyRequest, 'headers'>): Pick<PageRequest, 'texts' | 'languages'> {
  const languages = acceptedLanguages(headers['accept-language']);
  return { languages, texts: textsIn(languages) };
}
