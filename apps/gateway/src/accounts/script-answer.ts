import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { appError } from '#errors';
import { reportError } from '#observability';
import { errorBody, fromHttp } from '../http/error.filter.js';

/** A function of a page, by a name that can do nothing else in a script. */
export const callbackName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/);
/** What would end a script element, or a line of a script in old browsers. */
const UNSAFE = /[<\u2028\u2029]/g;

const logger = new Logger('Http');

/**
 * Answers a script element (JSONP) with a script that hands what was done, or what went wrong, to the page's function.
 * Without a function's name this is no page's script but somebody who follows a link: nothing is done.
 * @throws AppError NOT_SUPPORTED
 */
export async function answerScript(
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<object>,
): Promise<void> {
  const callback = callbackName.safeParse((request.query as { callback?: unknown }).callback);
  // A HEAD comes with every GET, and nobody would run its answer.
  if (request.method !== 'GET' || !callback.success)
    throw appError('NOT_SUPPORTED', {
      message:
        'A GET changes nothing here: POST to this address, or name the function that gets the answer (callback).',
    });
  const outcome = await outcomeOf(request, act);
  void reply.headers({
    'content-type': 'application/javascript; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  await reply.send(scriptOf(callback.data, outcome));
}

/** The comment before it keeps the answer from being anything but a script. */
function scriptOf(callback: string, value: object): string {
  const json = JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `/**/typeof ${callback} === 'function' && ${callback}(${json});`;
}

/** A script element does not run the answer of a status that is no success: the code in it must do. */
async function outcomeOf({ id }: FastifyRequest, act: () => Promise<object>): Promise<object> {
  try {
    return await act();
  } catch (thrown) {
    const error = fromHttp(thrown);
    reportError(logger, error, { requestId: id });
    return errorBody(error);
  }
}
