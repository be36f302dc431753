import type { OpenApiDocument, Operation, Reference, Response } from '../openapi.types.js';
import { type Markup, markup, prose } from '../../html/markup.js';

interface ErrorExample {
  readonly summary?: string;
  readonly value: { readonly code: number; readonly error: string };
}

/** Whether an answer carries a code and a text, its own ones or those of many endpoints. */
export function isErrorResponse(response: Response | Reference): boolean {
  return '$ref' in response || response.content?.['application/json']?.examples !== undefined;
}

/** An endpoint's own errors by status, with a hint at those that many have in common. */
export function renderErrors(responses: Operation['responses']): Markup {
  const errors = Object.entries(responses).filter(([, response]) => isErrorResponse(response));
  const own = errors.flatMap(([status, response]) => ('$ref' in response ? [] : [renderCodes(status, response)]));
  const common = errors.filter(([, response]) => '$ref' in response).map(([status]) => status);
  return markup`<h4>Errors</h4>
${own}<p class="quiet">${own.length === 0 ? 'Only the' : 'And the'} <a href="#common-errors">common errors</a> with ${common.join(', ')}.</p>`;
}

/** The errors that many endpoints have in common. */
export function renderCommonErrors(responses: OpenApiDocument['components']['responses']): Markup[] {
  return Object.values(responses).map((response) => renderCodes(response.description, response));
}

/** A status as a label. */
export function renderStatus(status: string): Markup {
  return markup`<span class="status">${status}</span>`;
}

function renderCodes(status: string, { content }: Response): Markup {
  const examples = Object.values(content?.['application/json']?.examples ?? {}) as ErrorExample[];
  return markup`<div class="errors">${renderStatus(status)}
<dl class="codes">
${examples.map(({ summary, value }) => markup`<div><dt><code>${value.code}</code></dt><dd>${prose(summary ?? value.error)}</dd></div>\n`)}</dl>
</div>
`;
}
