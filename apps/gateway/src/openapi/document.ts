import { z } from 'zod';
import { SECURITY, SECURITY_SCHEMES } from './security.js';
import { type Answer, TOPICS } from './endpoint.decorator.js';
import { COMMON_HEADERS, COMMON_RESPONSES, errorResponses, headerReference } from './error-responses.js';
import type { Header, OpenApiDocument, Operation, Parameter, Response, Schema } from './openapi.types.js';
import type { RoutedEndpoint } from './routed-endpoints.js';
import { named, ShapeWriter } from './shapes.js';

const DESCRIPTION =
  'Accounts and pushes over the REST API of the LeanCloud SDKs. Every body is JSON, but for the forms of pages. A failure is `{"code": <integer>, "error": "<text>"}`; programs decide by `code`.';

/** The parameters that stand in paths. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  code: 'The six digits of the message.',
  id: 'The number of the scheduled push.',
  objectId: 'The id of the object.',
  token: 'The token of the mailed link.',
};

const errorBody = named(
  'Error',
  z.object({
    code: z.int().describe('What went wrong, for programs.'),
    error: z.string().describe('The same for people; often more precise than the example.'),
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
