import type { OpenApiDocument, Operation, Parameter, Reference, Response, Schema } from './openapi.types.js';
import {
  type DocumentView,
  type ErrorsView,
  type FieldsView,
  type MemberView,
  renderDocumentView,
  type RichText,
  type RouteView,
} from './page.template.js';

/** The members of zod's JSON Schema that the page shows. */
interface ShownSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: ShownSchema;
  readonly anyOf?: readonly ShownSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
}

interface ErrorExample {
  readonly summary?: string;
  readonly value: { readonly code: number; readonly error: string };
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const NAMED = '#/components/schemas/';

/** Renders the document as HTML. */
export function renderPage({ info, servers, tags, paths, components }: OpenApiDocument): string {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return renderDocumentView({
    title: info.title,
    description: prose(info.description),
    server: servers[0]?.url ?? '',
    credentials: Object.entries(components.securitySchemes).map(([id, { name, description }]) => ({
      header: name,
      name: wordsOf(id),
      description: prose(description),
    })),
    sections: sectionsOf(tags, routes),
    commonErrors: Object.values(components.responses).map((response) => errorsView(response.description, response)),
    shapes: Object.entries(components.schemas).map(([name, schema]) => ({
      name,
      anchor: shapeAnchor(name),
      fields: fieldsView(schema),
    })),
  });
}

/** The routes by topic. An alias is shown with the route that it is an alias of. */
function sectionsOf(tags: OpenApiDocument['tags'], routes: readonly Route[]): DocumentView['sections'] {
  const sections = tags.map(({ name }) => ({
    name,
    anchor: name.toLowerCase().replaceAll(/[^a-z]+/g, '-'),
    routes: routes
      .filter(({ operation }) => operation.tags[0] === name && operation['x-alias-of'] === undefined)
      .map((route) => routeView(route, routes)),
  }));
  return sections.filter((section) => section.routes.length > 0);
}

function routeView({ method, path, operation }: Route, all: readonly Route[]): RouteView {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const aliases = all.filter((other) => other.method === method && other.operation['x-alias-of'] === path);
  return {
    id: operationId,
    method,
    verb: method.toUpperCase(),
    path: path.split('/'),
    aliases: aliases.map((alias) => alias.path.split('/')),
    summary,
    description: prose(description),
    credentials: credentialsOf(operation),
    parameters: parameters.filter((parameter) => parameter.in === 'query').map(parameterView),
    body: bodyView(requestBody),
    answers: answersOf(responses),
    ...errorsOf(responses),
  };
}

function parameterView({ name, description, schema }: Parameter): MemberView {
  return { name, type: typeOf(schema), description: prose(description) };
}

function answersOf(responses: Operation['responses']): RouteView['answers'] {
  const answers = Object.entries(responses).filter(([, response]) => !isErrorResponse(response)) as [
    string,
    Response,
  ][];
  return answers.map(([status, response]) => ({
    status,
    description: prose(response.description),
    headers: Object.entries(response.headers).flatMap(([name, header]) =>
      'description' in header ? [{ name, description: prose(header.description) }] : [],
    ),
    body: bodyView(response),
  }));
}

/** The errors of the route itself, with their codes, and the statuses of the common errors. */
function errorsOf(responses: Operation['responses']): Pick<RouteView, 'ownErrors' | 'commonStatuses'> {
  const errors = Object.entries(responses).filter(([, response]) => isErrorResponse(response));
  return {
    ownErrors: errors.flatMap(([status, response]) => ('$ref' in response ? [] : [errorsView(status, response)])),
    commonStatuses: errors.flatMap(([status, response]) => ('$ref' in response ? [status] : [])).join(', '),
  };
}

/** Whether a response is an error, either of the route itself or a common one. */
function isErrorResponse(response: Response | Reference): boolean {
  return '$ref' in response || response.content?.['application/json']?.examples !== undefined;
}

function errorsView(status: string, { content }: Response): ErrorsView {
  const examples = Object.values(content?.['application/json']?.examples ?? {}) as ErrorExample[];
  return {
    status,
    codes: examples.map(({ summary, value }) => ({ code: value.code, description: prose(summary ?? value.error) })),
  };
}

/** The credentials that a request needs, from the alternatives of the document. */
function credentialsOf({ security }: Operation): string {
  if (security.length === 0) return 'none';
  const ways = security.map((way) => {
    const kind = 'masterKey' in way || 'masterSign' in way ? 'master key' : 'application key';
    return 'session' in way ? `${kind} and session` : kind;
  });
  return [...new Set(ways)].join(', or ');
}

function bodyView(body: Pick<Response, 'content'> | undefined): FieldsView | undefined {
  const json = body?.content?.['application/json'];
  return json === undefined ? undefined : fieldsView(json.schema);
}

function fieldsView(schema: Schema): FieldsView {
  const { description, properties, required = [], additionalProperties } = schema as ShownSchema;
  if (properties === undefined)
    return { type: typeOf(schema), description: prose(description), members: [], isOpen: false };
  return {
    description: prose(description),
    members: Object.entries(properties).map(([name, field]) => ({
      name,
      type: typeOf(field),
      isOptional: !required.includes(name),
      description: prose(field.description),
    })),
    isOpen: typeof additionalProperties === 'object' && description === undefined,
  };
}

/** A type in a few words; a named shape is a link to it. */
function typeOf(schema: ShownSchema): RichText {
  const { $ref, anyOf, items, const: only, enum: some } = schema;
  if ($ref?.startsWith(NAMED) === true) {
    const name = $ref.slice(NAMED.length);
    return [{ text: name, anchor: shapeAnchor(name) }];
  }
  if (anyOf !== undefined) return joined(anyOf.map(typeOf));
  if (only !== undefined) return literal(only);
  if (some !== undefined) return joined(some.map(literal));
  if (items !== undefined) return [{ text: 'list of ' }, ...typeOf(items)];
  if (schema.format === 'date-time') return [{ text: 'time' }];
  return [{ text: [schema.type ?? 'any JSON'].flat().join(' or ') }];
}

function joined(types: readonly RichText[]): RichText {
  return types.flatMap((type, index) => (index === 0 ? type : [{ text: ' or ' }, ...type]));
}

function literal(value: unknown): RichText {
  return [{ text: JSON.stringify(value), isCode: true }];
}

/** Text in which the parts between backticks are code. */
function prose(text = ''): RichText {
  if (text === '') return [];
  return text.split('`').map((part, index) => ({ text: part, isCode: index % 2 === 1 }));
}

function shapeAnchor(name: string): string {
  return `shape-${name}`;
}

/** `applicationKey` as words. */
function wordsOf(id: string): string {
  return id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
