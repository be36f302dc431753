import type { ErrorName } from '#errors';
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
