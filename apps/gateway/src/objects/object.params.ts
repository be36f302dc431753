import { parseJson } from '#bootstrap';
import {
  DEFAULT_LIST_LIMIT,
  type JsonValue,
  MAX_LIST_LIMIT,
  MAX_LIST_SKIP,
  type ObjectListQuery,
  type ObjectReadOptions,
  type ObjectWriteOptions,
} from '#contracts';
import { appError, messageOf } from '#errors';

type Params = Record<string, unknown>;

export function parseListQuery(params: Params): ObjectListQuery {
  const order = textParam(params, 'order');
  const count = isOn(params, 'count');
  return {
    ...parseCondition(params),
    ...(order === undefined ? {} : { order }),
    ...parseReadOptions(params),
    limit: parseLimit(textParam(params, 'limit'), count),
    skip: parseSkip(textParam(params, 'skip')),
    count,
  };
}

export function parseReadOptions(params: Params): ObjectReadOptions {
  const keys = parseKeys(params);
  const include = textParam(params, 'include');
  return {
    ...(keys === undefined ? {} : { keys }),
    ...(include === undefined || include === '' ? {} : { include }),
    returnAcl: isOn(params, 'returnACL'),
  };
}

export function parseWriteOptions(params: Params): ObjectWriteOptions {
  return { ...parseCondition(params), returnNew: returnsNew(params) };
}

export function parseCondition(params: Params): { where?: unknown } {
  const where = textParam(params, 'where');
  return where === undefined || where === '' ? {} : { where: parseWhere(where) };
}

/** Whether the response to a write contains the changed fields: `new=true`, or the older name `fetchWhenSave=true`. */
export function returnsNew(params: Params): boolean {
  return isOn(params, 'new') || isOn(params, 'fetchWhenSave');
}

function parseKeys(params: Params): string[] | undefined {
  return textParam(params, 'keys')
    ?.split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

/** A Boolean parameter: `1`, `true` and `True`, which the SDK for C# sends, mean true, everything else false. */
export function isOn(params: Params, name: string): boolean {
  const value = params[name];
  return value === '1' || (typeof value === 'string' && value.toLowerCase() === 'true');
}

/** A value that is out of bounds means the default, as in the API of LeanCloud; so does 0 where nothing is counted. */
function parseLimit(text: string | undefined, count: boolean): number {
  const limit = text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : DEFAULT_LIST_LIMIT;
  return limit > MAX_LIST_LIMIT || (limit === 0 && !count) ? DEFAULT_LIST_LIMIT : limit;
}

function parseSkip(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (!/^\d{1,10}$/.test(text) || Number(text) > MAX_LIST_SKIP)
    throw invalid(`skip must be a whole number from 0 to ${MAX_LIST_SKIP}.`);
  return Number(text);
}

export function parseWhere(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    throw invalid(`where: ${messageOf(error)}`);
  }
}

function textParam(params: Params, name: string): string | undefined {
  const value = params[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(`${name} is given more than once.`);
}

const invalid = (message: string) => appError('INVALID_QUERY', { message });
