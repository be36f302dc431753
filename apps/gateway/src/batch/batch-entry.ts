import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isMethod, type SubRequest } from '../http/sub-request.js';

const MAX_ENTRIES = 100;
/** A path of the API: the parser of URLs would drop tabs and line breaks, and take a backslash for a slash. */
const API_PATH = /^\/1\.1\/[^\s\\]*$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** The entries of a batch's body. @throws AppError MALFORMED_JSON where there is no list of them, or one that is too long */
export function entriesOf({ requests }: JsonObject): JsonValue[] {
  if (!Array.isArray(requests)) throw malformed('A batch needs "requests", a list.');
  if (requests.length > MAX_ENTRIES) throw malformed(`A batch may hold ${MAX_ENTRIES} requests at most.`);
  return requests;
}

/** The request that an entry describes. @throws AppError MALFORMED_JSON where it describes none of this API */
export function parseEntry(entry: JsonValue): SubRequest {
  if (!isObject(entry)) throw malformed('A request of a batch must be an object.');
  const { method, path } = entry;
  const params = entry['params'] ?? {};
  if (!isMethod(method)) throw malformed('The method of a request must be GET, POST, PUT or DELETE.');
  if (!isApiPath(path)) throw malformed('The path of a request must be one below /1.1/.');
  if (!isObject(params)) throw malformed('The params of a request must be an object.');
  return { method, url: path, params, body: entry['body'] ?? {} };
}

function isApiPath(path: JsonValue | undefined): path is string {
  if (typeof path !== 'string' || path.includes('#')) return false;
  const [pathname = ''] = path.split('?', 1);
  return API_PATH.test(pathname) && !DOT_SEGMENT.test(pathname);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(message: string): AppError {
  return appError('MALFORMED_JSON', { message });
}
