import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { asJsonObject } from '#bootstrap';
import { type Caller, isObjectId, type JsonObject, languageTag, MAX_LANGUAGES, MAX_REMOVED_OBJECTS } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { isSessionToken } from './credentials.js';

/** Paths of LeanCloud in the place of a user id. A user that was imported with such an id is reached by its session only. */
const OTHER_USER_PATHS = new Set(['strictlyQuery', 'friendshipRequests', 'self']);

const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>();

export const RequestCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(requestOf(context)),
);

/** For `GET /1.1/users/me` alone: SDKs (Python, PHP, Swift) send the token of `become` in the query; that of PHP sends another in the header. */
export const CallerByQuery = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const request = requestOf(context);
  const { session_token: token } = request.query as Record<string, unknown>;
  const caller = callerOf(request);
  if (token === undefined) return caller;
  const { sessionToken: _header, ...others } = caller;
  return isSessionToken(token) ? { ...others, sessionToken: token } : others;
});

export const JsonBody = createParamDecorator((_: unknown, context: ExecutionContext): JsonObject =>
  asJsonObject(requestOf(context).body),
);

export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const id = pathId(context, 'USER_NOT_FOUND');
  if (OTHER_USER_PATHS.has(id)) throw appError('NOT_FOUND');
  return id;
});

export const UserIds = createParamDecorator((_: unknown, context: ExecutionContext) =>
  pathIds(context, 'USER_NOT_FOUND'),
);

export const ObjectId = createParamDecorator((_: unknown, context: ExecutionContext) => pathId(context, 'NOT_FOUND'));

export const ObjectIds = createParamDecorator((_: unknown, context: ExecutionContext) => pathIds(context, 'NOT_FOUND'));

export const QueryParams = createParamDecorator(
  (_: unknown, context: ExecutionContext): Record<string, unknown> =>
    requestOf(context).query as Record<string, unknown>,
);

export interface CallerQuery {
  readonly caller: Caller;
  readonly params: Record<string, unknown>;
}

export const RequestQuery = createParamDecorator((_: unknown, context: ExecutionContext): CallerQuery => {
  const request = requestOf(context);
  return { caller: callerOf(request), params: request.query as Record<string, unknown> };
});

/** Whether the path is the one of all classes. Answers to changes name the object there: version 5 of the SDK for JavaScript needs the id. */
export const IsClassPath = createParamDecorator(
  (_: unknown, context: ExecutionContext): boolean =>
    requestOf(context).routeOptions.url?.startsWith('/1.1/classes/') === true,
);

function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw appError('UNAUTHORIZED');
  return caller;
}

function pathId(context: ExecutionContext, missing: ErrorName): string {
  const { objectId } = requestOf(context).params as { objectId: string };
  if (!isObjectId(objectId)) throw appError(missing);
  return objectId;
}

function pathIds(context: ExecutionContext, missing: ErrorName): string[] {
  const ids = (requestOf(context).params as { objectId: string }).objectId.split(',').map((id) => id.trim());
  if (ids.length > MAX_REMOVED_OBJECTS)
    throw appError('INVALID_QUERY', { message: `A deletion can name at most ${MAX_REMOVED_OBJECTS} ids.` });
  if (!ids.every(isObjectId)) throw appError(missing);
  return ids;
}

const MAX_TOKEN_LENGTH = 1_024;

/** The token of a mailed link. A malformed one becomes the empty text, which accounts treats as expired. */
export function linkTokenOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_TOKEN_LENGTH ? value : '';
}

/** Browsers send about 50 characters. A longer header loses its last entries. */
const MAX_HEADER_LENGTH = 256;
const MAX_ENTRIES = 1_000;
const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

const NONE: readonly string[] = [];
const known = new LRUCache<string, readonly string[]>({ max: MAX_ENTRIES });

interface Preference {
  readonly tag: string;
  readonly quality: number;
}

/** The languages of an Accept-Language header (RFC 9110, 12.5.4), the preferred one first. Malformed entries are ignored. */
export function acceptedLanguages(header: string | undefined): readonly string[] {
  if (header === undefined) return NONE;
  const text = shortened(header);
  const found = known.get(text) ?? languagesOf(text);
  known.set(text, found);
  return found;
}

/** Cut at a comma: half an entry would name another language. */
function shortened(header: string): string {
  if (header.length <= MAX_HEADER_LENGTH) return header;
  return header.slice(0, Math.max(0, header.lastIndexOf(',', MAX_HEADER_LENGTH)));
}

function languagesOf(text: string): readonly string[] {
  const preferences = text
    .split(',')
    .flatMap(preferenceOf)
    .sort((a, b) => b.quality - a.quality);
  const byName = new Map(preferences.map(({ tag }) => [tag.toLowerCase(), tag]));
  return [...byName.values()].slice(0, MAX_LANGUAGES);
}

/** Ignores `*`, which is no language, and entries with the quality 0, which are not acceptable. */
function preferenceOf(part: string): Preference[] {
  const [tag = '', quality = 'q=1', ...rest] = part.split(';').map((each) => each.trim());
  const value = Number(QUALITY.exec(quality)?.[1] ?? 0);
  const isWanted = rest.length === 0 && value > 0 && languageTag.safeParse(tag).success;
  return isWanted ? [{ tag, quality: value }] : [];
}
