import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Caller, isObjectId, type JsonObject, MAX_REMOVED_OBJECTS } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { isSessionToken } from './credentials.js';
import { asJsonObject } from './json-body.js';

/** Paths of the real service that stand where ids of users do. A user who was imported with one as its id is known by its session only. */
const OTHER_USER_PATHS = new Set(['strictlyQuery', 'friendshipRequests', 'self']);

const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>();

/** Who asks: application, signature and session token, passed on with the RPC. */
export const RequestCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(requestOf(context)),
);

/**
 * Who asks, by the session token of the query where it names one. For `GET /1.1/users/me` alone: the SDKs of Python, PHP and
 * Swift send the token of `become` only there, and PHP's sends another one in the header meanwhile.
 */
export const CallerByQuery = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const request = requestOf(context);
  const { session_token: token } = request.query as Record<string, unknown>;
  const caller = callerOf(request);
  if (token === undefined) return caller;
  const { sessionToken: _header, ...others } = caller;
  return isSessionToken(token) ? { ...others, sessionToken: token } : others;
});

/** The body as a JSON object. */
export const JsonBody = createParamDecorator((_: unknown, context: ExecutionContext): JsonObject =>
  asJsonObject(requestOf(context).body),
);

/** The user's id in the path; what cannot be one belongs to no user. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const id = pathId(context, 'USER_NOT_FOUND');
  if (OTHER_USER_PATHS.has(id)) throw appError('NOT_FOUND');
  return id;
});

/** The users' ids in the path of a deletion, joined by commas. */
export const UserIds = createParamDecorator((_: unknown, context: ExecutionContext) =>
  pathIds(context, 'USER_NOT_FOUND'),
);

/** An object's id in the path; what cannot be one belongs to no object. */
export const ObjectId = createParamDecorator((_: unknown, context: ExecutionContext) => pathId(context, 'NOT_FOUND'));

/** The objects' ids in the path of a deletion, joined by commas. */
export const ObjectIds = createParamDecorator((_: unknown, context: ExecutionContext) => pathIds(context, 'NOT_FOUND'));

/** The URL's parameters. */
export const QueryParams = createParamDecorator(
  (_: unknown, context: ExecutionContext): Record<string, unknown> =>
    requestOf(context).query as Record<string, unknown>,
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
    throw appError('INVALID_QUERY', { message: `A deletion may name ${MAX_REMOVED_OBJECTS} ids at most.` });
  if (!ids.every(isObjectId)) throw appError(missing);
  return ids;
}

/** As long as a token may be on its way to accounts. */
const MAX_TOKEN_LENGTH = 1_024;

/** The token of a mailed link as a request brings it. What cannot be one becomes the empty text, which accounts knows as expired. */
export function linkTokenOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_TOKEN_LENGTH ? value : '';
}
