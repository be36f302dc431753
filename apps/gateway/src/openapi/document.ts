import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { type ErrorName, ERRORS } from '#errors';
import { type Answer, type Credentials, named, ShapeWriter, TOPICS } from './endpoint.decorator.js';
import type {
  Example,
  Header,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Response,
  Schema,
  SecurityScheme,
} from './openapi.types.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

const header = (name: string, description: string): SecurityScheme => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
});

const SECURITY_SCHEMES: Readonly<Record<string, SecurityScheme>> = {
  applicationId: header('X-LC-Id', 'The id of the application.'),
  applicationKey: header('X-LC-Key', 'The application key.'),
  masterKey: header('X-LC-Key', 'The master key, followed by `,master`. Use it on your own servers only.'),
  applicationSign: header(
    'X-LC-Sign',
    'Replaces the key: `<md5>,<timestamp>`. The MD5 digest is that of the timestamp directly followed by the application key.',
  ),
  masterSign: header('X-LC-Sign', 'The same signature with the master key, followed by `,master`.'),
  session: header('X-LC-Session', 'The session token of the user.'),
};

const needed = (...names: string[]) => Object.fromEntries(['applicationId', ...names].map((name) => [name, []]));

const BY_APPLICATION = [needed('applicationKey'), needed('applicationSign')];
const BY_MASTER = [needed('masterKey'), needed('masterSign')];
const BY_SESSION = [needed('applicationKey', 'session'), needed('applicationSign', 'session')];

const SECURITY: Readonly<Record<Credentials, Operation['security']>> = {
  none: [],
  application: BY_APPLICATION,
  session: BY_SESSION,
  'session or master key': [...BY_SESSION, ...BY_MASTER],
  'master key': BY_MASTER,
};

const DESCRIPTION =
  'Accounts and pushes over the REST API of the LeanCloud SDKs. Every body is JSON, except for the forms of pages. An error response is `{"code": <integer>, "error": "<text>"}`; programs evaluate `code`.';

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  appId: 'The id of the application.',
  className: 'The name of the class.',
  code: 'The six digits of the message.',
  id: 'The number of the scheduled push.',
  objectId: 'The id of the object.',
  token: 'The token of the mailed link.',
};

const errorBody = named(
  'Error',
  z.object({
    code: z.int().describe('The error code, for programs.'),
    error: z.string().describe('The error text, for people. It is often more precise than the example.'),
  }),
);

interface CommonError {
  readonly name: ErrorName;
  readonly when: string;
  readonly appliesTo: (endpoint: RoutedEndpoint) => boolean;
}

const everywhere = (): boolean => true;
const withCredentials = ({ credentials }: RoutedEndpoint): boolean => credentials !== 'none';
/** Pages have error pages instead of error bodies. */
const inJson = ({ topic }: RoutedEndpoint): boolean => topic !== 'Pages';
const withBody = (endpoint: RoutedEndpoint): boolean => endpoint.method !== 'GET' && inJson(endpoint);

export const COMMON_ERRORS: readonly CommonError[] = [
  { name: 'INVALID_KEY_NAME', when: 'the body contains a key `__proto__`', appliesTo: withBody },
  { name: 'MALFORMED_JSON', when: 'the body is not a JSON object, or is nested too deeply', appliesTo: withBody },
  {
    name: 'INCORRECT_TYPE',
    when: 'the body contains a number that is not finite, such as `1e400`',
    appliesTo: withBody,
  },
  { name: 'UNAUTHORIZED', when: 'credentials are missing or wrong', appliesTo: withCredentials },
  { name: 'PAYLOAD_TOO_LARGE', when: 'the body exceeds the size limit', appliesTo: withBody },
  {
    name: 'TOO_MANY_REQUESTS',
    when: 'too many requests from one address, or too many with a wrong application id or key',
    appliesTo: withCredentials,
  },
  { name: 'HEADERS_TOO_LARGE', when: 'the headers exceed 16 KiB', appliesTo: everywhere },
  { name: 'INTERNAL', when: 'internal server error; see the server log for details', appliesTo: inJson },
  {
    name: 'SERVICE_UNAVAILABLE',
    when: 'the database, the message broker or a service is unavailable, or too many passwords wait to be hashed',
    appliesTo: withCredentials,
  },
];

const COMMON_HEADERS: Readonly<Record<string, Header>> = {
  'X-Request-Id': {
    description: 'The id of the request in all logs. A request can set it: 8 to 64 letters, digits, `-` or `_`.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer' } },
};

const headerReference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

const WHEN = new Map(COMMON_ERRORS.map(({ name, when }) => [name, when]));
const COMMON_BY_STATUS = byStatus(COMMON_ERRORS.map(({ name }) => name));

const COMMON_RESPONSES: Readonly<Record<string, Response>> = Object.fromEntries(
  [...COMMON_BY_STATUS].map(([status, names]) => [responseName(status), errorResponse(status, names, WHEN)]),
);

function errorResponses(endpoint: RoutedEndpoint): Record<string, Response | Reference> {
  const common = COMMON_ERRORS.filter(({ appliesTo }) => appliesTo(endpoint)).map(({ name }) => name);
  const groups = byStatus([...new Set([...endpoint.errors, ...common])]);
  return Object.fromEntries([...groups].map(([status, names]) => [status, responseOf(status, names)]));
}

function responseOf(status: number, names: readonly ErrorName[]): Response | Reference {
  const common = COMMON_BY_STATUS.get(status) ?? [];
  const isCommon = common.length === names.length && names.every((name) => common.includes(name));
  return isCommon ? { $ref: `#/components/responses/${responseName(status)}` } : errorResponse(status, names);
}

function responseName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
}

function errorResponse(
  status: number,
  names: readonly ErrorName[],
  when: ReadonlyMap<ErrorName, string> = new Map(),
): Response {
  const codes = [...new Set(names.map((name) => ERRORS[name].code))].sort((a, b) => a - b);
  const mayRetry = names.some((name) => ERRORS[name].retryAfterSeconds !== undefined);
  return {
    description: `${status} ${STATUS_CODES[status] ?? ''}`,
    headers: {
      'X-Request-Id': headerReference('X-Request-Id'),
      ...(mayRetry ? { 'Retry-After': headerReference('Retry-After') } : {}),
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error', properties: { code: { enum: codes } } },
        examples: Object.fromEntries(names.map((name) => [name, exampleOf(name, when.get(name))])),
      },
    },
  };
}

function exampleOf(name: ErrorName, summary: string | undefined): Example {
  const { code, message } = ERRORS[name];
  return { ...(summary === undefined ? {} : { summary }), value: { code, error: message } };
}

function byStatus(names: readonly ErrorName[]): Map<number, ErrorName[]> {
  const sorted = [...names].sort((a, b) => ERRORS[a].status - ERRORS[b].status || ERRORS[a].code - ERRORS[b].code);
  const groups = new Map<number, ErrorName[]>();
  for (const name of sorted) groups.set(ERRORS[name].status, [...(groups.get(ERRORS[name].status) ?? []), name]);
  return groups;
}

/** Describes endpoints as OpenAPI 3.1. @param baseUrl the public address of the API */
export function openApiDocument(endpoints: readonly RoutedEndpoint[], baseUrl: string): OpenApiDocument {
  const shapes = new ShapeWriter();
  shapes.write(errorBody);
  const paths = pathsOf(endpoints, shapes);
  return {
    openapi: '3.1.1',
    info: { title: 'Gatepost', version: '1.1', description: DESCRIPTION },
    servers: [{ url: baseUrl }],
    tags: TOPICS.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: shapes.schemas,
      responses: COMMON_RESPONSES,
      headers: COMMON_HEADERS,
    },
  };
}

function pathsOf(endpoints: readonly RoutedEndpoint[], shapes: ShapeWriter): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, Operation>> = {};
  const routes = endpoints.flatMap((endpoint) => endpoint.paths.map((path, index) => ({ endpoint, path, index })));
  for (const { endpoint, path, index } of routes) {
    const item = (paths[path] ??= {});
    const method = endpoint.method.toLowerCase();
    if (item[method] !== undefined) throw new Error(`${endpoint.method} ${path} is described twice.`);
    item[method] = operationOf(endpoint, path, index, shapes);
  }
  return paths;
}

function operationOf(endpoint: RoutedEndpoint, path: string, index: number, shapes: ShapeWriter): Operation {
  const { id, topic, summary, description, credentials, body } = endpoint;
  return {
    operationId: index === 0 ? id : `${id}Alias${index}`,
    tags: [topic],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(index === 0 ? {} : { 'x-alias-of': endpoint.paths[0] }),
    security: SECURITY[credentials],
    parameters: [...pathParameters(path), ...queryParameters(endpoint, shapes)],
    ...(body === undefined ? {} : { requestBody: { content: json(body, shapes) } }),
    responses: { ...answersOf(endpoint, shapes), ...errorResponses(endpoint) },
  };
}

function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const description = PATH_PARAMETERS[name];
    if (description === undefined) throw new Error(`PATH_PARAMETERS does not describe ${name} of ${path}.`);
    return { name, in: 'path', required: true, description, schema: { type: 'string' } };
  });
}

function queryParameters({ query }: RoutedEndpoint, shapes: ShapeWriter): Parameter[] {
  return Object.entries<z.ZodType>(query?.shape ?? {}).map(([name, field]) => {
    const { description = '', ...schema } = shapes.write(field) as Schema & { description?: string };
    return { name, in: 'query', required: !z.safeParse(field, undefined).success, description, schema };
  });
}

function answersOf({ answers }: RoutedEndpoint, shapes: ShapeWriter): Record<string, Response> {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, shapes)]));
}

function answerOf({ description, body, mediaType, headers = {} }: Answer, shapes: ShapeWriter): Response {
  const own = Object.entries(headers).map(([name, meaning]): [string, Header] => [
    name,
    { description: meaning, schema: { type: 'string' } },
  ]);
  const content = body === undefined ? textContent(mediaType) : json(body, shapes);
  return {
    description,
    headers: { 'X-Request-Id': headerReference('X-Request-Id'), ...Object.fromEntries(own) },
    ...(content === undefined ? {} : { content }),
  };
}

function textContent(mediaType: string | undefined): Response['content'] {
  return mediaType === undefined ? undefined : { [mediaType]: { schema: { type: 'string' } } };
}

function json(shape: z.ZodType, shapes: ShapeWriter): NonNullable<Response['content']> {
  return { 'application/json': { schema: shapes.write(shape) } };
}
