import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller as Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { asJsonObject } from './json-body.js';

const OBJECT_ID = /^[A-Za-z0-9]{1,64}$/;

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

/** The user id of the path; what cannot be one belongs to no user. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { objectId } = requestOf(context).params as { objectId: string };
  if (!OBJECT_ID.test(objectId)) throw appError('USER_NOT_FOUND');
  return objectId;
});

/** The URL's parameters. */
export const QueryParams = createParamDecorator(
  (_: unknown, context: ExecutionContext): Record<string, unknown> =>
    requestOf(context).query as Record<string, unknown>,
);
