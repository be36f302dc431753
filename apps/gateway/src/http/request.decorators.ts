import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Caller, type JsonObject, MAX_REMOVED_OBJECTS } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { asJsonObject } from './json-body.js';

const OBJECT_ID = /^[A-Za-z0-9]{1,64}$/;
const OTHER_PATHS = new Set(['strictlyQuery', 'friendshipRequests', 'self']);

const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>();

/** Who asks: application, signature and session token, passed on with the RPC. */
export const RequestCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = requestOf(context);
  if (caller === undefined) throw appError('UNAUTHORIZED');
  return caller;
});

/** The body as a JSON object. */
export const JsonBody = createParamDecorator((_: unknown, context: ExecutionContext): JsonObject =>
  asJsonObject(requestOf(context).body),
);

/** The user's id in the path; what cannot be one belongs to no user. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) =>
  pathId(context, 'USER_NOT_FOUND'),
);

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

function pathId(context: ExecutionContext, missing: ErrorName): string {
  const { objectId } = requestOf(context).params as { objectId: string };
  // Paths of the real service that stand where ids do, and are none.
  if (OTHER_PATHS.has(objectId)) throw appError('NOT_FOUND');
  if (!OBJECT_ID.test(objectId)) throw appError(missing);
  return objectId;
}

function pathIds(context: ExecutionContext, missing: ErrorName): string[] {
  const ids = (requestOf(context).params as { objectId: string }).objectId.split(',').map((id) => id.trim());
  if (ids.length > MAX_REMOVED_OBJECTS)
    throw appError('INVALID_QUERY', { message: `A deletion may name ${MAX_REMOVED_OBJECTS} ids at most.` });
  if (!ids.every((id) => OBJECT_ID.test(id))) throw appError(missing);
  return ids;
}
