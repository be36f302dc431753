import type { OpenApiDocument, Operation, Parameter, Response } from '../openapi.types.js';
import { type Markup, markup, prose } from '../../html/markup.js';
import { isErrorResponse, renderErrors, renderStatus } from './route.errors.js';
import { renderFields, renderType } from './shape.js';

/** An operation with its address. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Other paths that do the same. */
  readonly aliases: readonly string[];
}

/** The routes of a topic, without those that are only aliases. */
export function routesOf({ paths }: OpenApiDocument, topic: string): Route[] {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return routes
    .filter(({ operation }) => operation.tags[0] === topic && operation['x-alias-of'] === undefined)
    .map((route) => ({ ...route, aliases: aliasesOf(route, routes) }));
}

function aliasesOf({ method, path }: Omit<Route, 'aliases'>, all: readonly Omit<Route, 'aliases'>[]): string[] {
  return all
    .filter((other) => other.method === method && other.operation['x-alias-of'] === path)
    .map((alias) => alias.path);
}

/** A list of links to routes. */
export function renderContents(routes: readonly Route[]): Markup {
  return markup`<ul class="contents">
${routes.map(({ method, path, operation }) => markup`<li><a href="#${operation.operationId}">${renderAddress(method, path)}</a></li>\n`)}</ul>`;
}

export function renderRoute({ method, path, operation, aliases }: Route): Markup {
  const { operationId, summary, description, parameters, requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema;
  return markup`<article id="${operationId}" aria-labelledby="${operationId}-title">
<h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
<p class="address">${renderAddress(method, path)}</p>
${aliases.map((alias) => markup`<p class="quiet">Also as <code>${breakable(alias)}</code></p>\n`)}
<p class="quiet">Credentials: <strong>${credentialsOf(operation)}</strong></p>
${description === undefined ? undefined : markup`<p>${prose(description)}</p>`}
${renderParameters(parameters)}
${body === undefined ? undefined : markup`<h4>Body</h4>${renderFields(body)}`}
<h4>Answer</h4>
${Object.entries(operation.responses).map(([status, response]) => renderAnswer(status, response as Response))}
${renderErrors(operation.responses)}
</article>
`;
}

function renderAddress(method: string, path: string): Markup {
  return markup`<span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code>`;
}

/** A path that may be broken after its slashes. */
function breakable(path: string): Markup[] {
  return path.split('/').map((part, index) => (index === 0 ? markup`${part}` : markup`/<wbr>${part}`));
}

function renderParameters(parameters: readonly Parameter[]): Markup | undefined {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return undefined;
  return markup`<h4>URL parameters</h4>
<dl>
${query.map(({ name, description, schema }) => markup`<div><dt><code>${name}</code> ${renderType(schema)}</dt><dd>${prose(description)}</dd></div>\n`)}</dl>`;
}

function renderAnswer(status: string, response: Response): Markup | undefined {
  if (isErrorResponse(response)) return undefined;
  const [content] = Object.entries(response.content ?? {});
  const headers = Object.entries(response.headers).flatMap(([name, header]) =>
    'description' in header ? [markup`<p class="quiet"><code>${name}</code>: ${prose(header.description)}</p>\n`] : [],
  );
  return markup`<p>${renderStatus(status)} ${prose(response.description)}</p>
${headers}${content?.[0] === 'application/json' ? renderFields(content[1].schema) : undefined}`;
}

/** What a request must show, from the alternatives of the document. */
function credentialsOf({ security }: Operation): string {
  if (security.length === 0) return 'none';
  const ways = security.map((way) => {
    const kind = 'masterKey' in way || 'masterSign' in way ? 'master key' : 'application key';
    return 'session' in way ? `${kind} and session` : kind;
  });
  return [...new Set(ways)].join(', or ');
}
