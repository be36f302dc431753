import type { OpenApiDocument, Operation, Reference, Response } from '../openapi.types.js';
import { type Markup, markup } from './markup.js';

interface ErrorBody {
  readonly code: number;
  readonly error: string;
}

/** Whether an answer carries a code and a text, its own ones or those of many endpoints. */
export function isErrorResponse(response: Response | Reference): boolean {
  return '$ref' in response || response.content?.['application/json']?.examples !== undefined;
}

/** An endpoint's own errors by status, with a hint at those that many have in common. */
export function renderErrors(responses: Operation['responses']): Markup {
  const errors = Object.entries(responses).filter(([, response]) => isErrorResponse(response));
  const own = errors.flatMap(([status, response]) => ('$ref' in response ? [] : [renderStatus(status, response)]));
  const common = errors.filter(([, response]) => '$ref' in response).map(([status]) => status);
  return markup`<h4>Errors</h4>
${own}<p class="quiet">${own.length === 0 ? 'Only the' : 'And the'} <a href="#common-errors">common errors</a> with ${common.join(', ')}.</p>`;
}

/** The errors that many endpoints have in common. */
export function renderCommonErrors(responses: OpenApiDocument['components']['responses']): Markup[] {
  return Object.entries(responses).map(([name, response]) => renderStatus(wordsOf(name), response));
}

function renderStatus(status: string, { content }: Response): Markup {
  const bodies = Object.values(content?.['application/json']?.examples ?? {}).map(({ value }) => value as ErrorBody);
  return markup`<p><strong>${status}</strong></p>
<dl class="codes">
${bodies.map(({ code, error }) => markup`<div><dt><code>${code}</code></dt><dd>${error}</dd></div>\n`)}</dl>
`;
}

/** `PayloadTooLarge` as words. */
function wordsOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
