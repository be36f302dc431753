import { z } from 'zod';
import { type Answer, type Credentials, named, shapeNames, TOPICS } from './endpoint.decorator.js';
import { COMMON_HEADERS, COMMON_RESPONSES, errorResponses, headerReference } from './error-responses.js';
import type {
  Header,
  OpenApiDocument,
  Operation,
  Parameter,
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

/** The alternative combinations of credentials. */
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

/** @throws Error where a parameter has no description */
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

/** Converts zod schemas into JSON Schemas, and collects the named ones for `components`. */
class ShapeWriter {
  readonly #named = new Map<string, Schema>();

  /** The named schemas that were written so far. */
  get schemas(): Record<string, Schema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a.localeCompare(b)));
  }

  /** The JSON Schema, or for a named one a reference to it. */
  write(shape: z.core.$ZodType): Schema {
    const name = shapeNames.get(shape)?.name;
    if (name === undefined) return this.#convert(shape);
    if (!this.#named.has(name)) this.#named.set(name, this.#convert(shape));
    return { $ref: `#/components/schemas/${name}` };
  }

  #convert(root: z.core.$ZodType): Schema {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(root, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        dropNoise(jsonSchema);
        if (zodSchema !== root && shapeNames.has(zodSchema)) replace(jsonSchema, this.write(zodSchema));
      },
    });
    return schema;
  }
}

/** Removes what zod adds to every integer and time: the bounds of safe integers and the pattern of a time. */
function dropNoise(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === 'date-time') delete schema.pattern;
}

function replace(target: object, source: object): void {
  for (const key of Object.keys(target)) Reflect.deleteProperty(target, key);
  Object.assign(target, source);
}
