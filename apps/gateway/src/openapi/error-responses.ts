import { STATUS_CODES } from 'node:http';
import { type ErrorName, ERRORS } from '#errors';
import type { Example, Header, Reference, Response } from './openapi.types.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

/** An error that comes from what stands before or behind all endpoints, not from one of them. */
interface CommonError {
  readonly name: ErrorName;
  readonly when: string;
  readonly appliesTo: (endpoint: RoutedEndpoint) => boolean;
}

const everywhere = (): boolean => true;
const withCredentials = ({ credentials }: RoutedEndpoint): boolean => credentials !== 'none';
/** Pages say in words what went wrong. */
const inJson = ({ topic }: RoutedEndpoint): boolean => topic !== 'Pages';
const withBody = (endpoint: RoutedEndpoint): boolean => endpoint.method !== 'GET' && inJson(endpoint);

/** What endpoints can answer beside their own errors. */
export const COMMON_ERRORS: readonly CommonError[] = [
  { name: 'INVALID_KEY_NAME', when: 'the body has a `__proto__` key somewhere', appliesTo: withBody },
  { name: 'MALFORMED_JSON', when: 'the body is no JSON object, or is nested too deeply', appliesTo: withBody },
  { name: 'INCORRECT_TYPE', when: 'the body has a number without end, such as `1e400`', appliesTo: withBody },
  { name: 'UNAUTHORIZED', when: 'credentials are missing or wrong', appliesTo: withCredentials },
  { name: 'PAYLOAD_TOO_LARGE', when: 'the body is over the limit', appliesTo: withBody },
  {
    name: 'TOO_MANY_REQUESTS',
    when: 'there were too many requests from one address, or too many with a wrong application id or key; try again after `Retry-After`',
    appliesTo: withCredentials,
  },
  { name: 'HEADERS_TOO_LARGE', when: 'the headers are over 16 KiB', appliesTo: everywhere },
  { name: 'INTERNAL', when: 'the server made a mistake; its log says which', appliesTo: inJson },
  {
    name: 'SERVICE_UNAVAILABLE',
    when: 'the database, the message broker or a service is away, or too many passwords wait; try again after `Retry-After`',
    appliesTo: withCredentials,
  },
];

export const COMMON_HEADERS: Readonly<Record<string, Header>> = {
  'X-Request-Id': {
    description: 'The id of the request in all logs: yours, if you sent one of 8 to 64 letters, digits, `-` or `_`.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer' } },
};

/** A reference to a header that many answers have. */
export const headerReference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

const WHEN = new Map(COMMON_ERRORS.map(({ name, when }) => [name, when]));
const COMMON_BY_STATUS = byStatus(COMMON_ERRORS.map(({ name }) => name));

/** The answers with errors that many endpoints have in common, by name. */
export const COMMON_RESPONSES: Readonly<Record<string, Response>> = Object.fromEntries(
  [...COMMON_BY_STATUS].map(([status, names]) => [responseName(status), errorResponse(status, names, WHEN)]),
);

/** All errors that an endpoint can answer, by status. */
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

/** Statuses in order, and each one's errors in the order of their codes. */
function byStatus(names: readonly ErrorName[]): Map<number, ErrorName[]> {
  const sorted = [...names].sort((a, b) => ERRORS[a].status - ERRORS[b].status || ERRORS[a].code - ERRORS[b].code);
  const groups = new Map<number, ErrorName[]>();
  for (const name of sorted) groups.set(ERRORS[name].status, [...(groups.get(ERRORS[name].status) ?? []), name]);
  return groups;
}
