import { MAX_LIST_LIMIT, MAX_LIST_SKIP, type UserListQuery } from '#contracts';
import { appError } from '#errors';
import { parseJson } from '../http/json-body.js';

const DEFAULT_LIMIT = 100;

/** Reads the parameters of GET /1.1/users. @throws AppError INVALID_QUERY */
export function parseUserListQuery(params: Record<string, unknown>): UserListQuery {
  const where = textParam(params, 'where');
  const order = textParam(params, 'order');
  const keys = parseKeys(params);
  return {
    ...(where === undefined ? {} : { where: parseWhere(where) }),
    ...(order === undefined ? {} : { order }),
    ...(keys === undefined ? {} : { keys }),
    limit: parseLimit(textParam(params, 'limit')),
    skip: parseSkip(textParam(params, 'skip')),
    count: isOn(params, 'count'),
  };
}

/** The `keys` parameter: names joined by commas. */
export function parseKeys(params: Record<string, unknown>): string[] | undefined {
  return textParam(params, 'keys')
    ?.split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

/** Whether a switch such as `count=1` or `new=true` is on. */
export function isOn(params: Record<string, unknown>, name: string): boolean {
  return params[name] === '1' || params[name] === 'true';
}

/** Out of bounds means the default: so the API has always read it. */
function parseLimit(text: string | undefined): number {
  const limit = text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : DEFAULT_LIMIT;
  return limit > MAX_LIST_LIMIT ? DEFAULT_LIMIT : limit;
}

function parseSkip(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (!/^\d{1,10}$/.test(text) || Number(text) > MAX_LIST_SKIP) throw invalid('skip must be a whole number.');
  return Number(text);
}

function parseWhere(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw invalid('where must be JSON.');
  }
}

function textParam(params: Record<string, unknown>, name: string): string | undefined {
  const value = params[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(`${name} is given more than once.`);
}

const invalid = (message: string) => appError('INVALID_QUERY', { message });
