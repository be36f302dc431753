import { STATUS_CODES } from 'node:http';
import { type ErrorName, ERRORS } from '#errors';
import type { Example, Header, Reference, Response } from './openapi.types.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

/** An error of the layers around all endpoints. */
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

/** The errors that endpoints have in addition to their own. */
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

export const COMMON_HEADERS: Readonly<Record<string, Header>> = {
  'X-Request-Id': {
    description: 'The id of the request in all logs. A request can set it: 8 to 64 letters, digits, `-` or `_`.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer' } },
};

export const headerReference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

const WHEN = new Map(COMMON_ERRORS.map(({ name, when }) => [name, when]));
const COMMON_BY_STATUS = byStatus(COMMON_ERRORS.map(({ name }) => name));

/** The responses with common errors, by name. */
export const COMMON_RESPONSES: Readonly<Record<string, Response>> = Object.fromEntries(
  [...COMMON_BY_STATUS].map(([status, names]) => [responseName(status), errorResponse(status, names, WHEN)]),
);

/** The error responses of an endpoint, by status. */
export function errorResponses(endpoint: RoutedEndpoint): Record<string, Response | Reference> {
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

/** Groups errors by status; statuses and codes ascend. */
function byStatus(names: readonly ErrorName[]): Map<number, ErrorName[]> {
  const sorted = [...names].sort((a, b) => ERRORS[a].status - ERRORS[b].status || ERRORS[a].code - ERRORS[b].code);
  const groups = new Map<number, ErrorName[]>();
  for (const name of sorted) groups.set(ERRORS[name].status, [...(groups.get(ERRORS[name].status) ?? []), name]);
  return groups;
}
