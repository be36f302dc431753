import type { JsonValue } from '#contracts';
import { isMethod, type SubRequest } from '../http/sub-request.js';
import { isObject, malformed } from './batch-body.js';

/** A path of the API: the parser of URLs would drop tabs and line breaks, and take a backslash for a slash. */
const API_PATH = /^\/1\.1\/[^\s\\]*$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

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
