import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fromHttp } from '#bootstrap';
import { appError } from '#errors';
import { reportError } from '#observability';
import { errorBody } from '../http/error.filter.js';

/** The name of a function of the page. The pattern allows no other code. */
export const callbackName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/);
/** Characters that could end a script element, or a line of a script in old browsers. */
const UNSAFE = /[<\u2028\u2029]/g;

const logger = new Logger('Http');

/**
 * Responds to a script element (JSONP) with a script that passes the result or the error to the page's function. Without the
 * name of a function the request may come from a mail scanner, and changes nothing.
 * @throws AppError NOT_SUPPORTED
 */
export async function answerScript(
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<object>,
): Promise<void> {
  const callback = callbackName.safeParse((request.query as { callback?: unknown }).callback);
  // Every GET route also accepts HEAD, whose response runs no script.
  if (request.method !== 'GET' || !callback.success)
    throw appError('NOT_SUPPORTED', {
      message: 'Send a POST request, or the parameter callback with the name of a function.',
    });
  const outcome = await outcomeOf(request, act);
  void reply.headers({
    'content-type': 'application/javascript; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  await reply.send(scriptOf(callback.data, outcome));
}

/** The leading comment prevents browsers from interpreting the response as another format. */
function scriptOf(callback: string, value: object): string {
  const json = JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `/**/typeof ${callback} === 'function' && ${callback}(${json});`;
}

/** The status is always 200, because browsers do not run scripts with an error status. The result contains the code. */
async function outcomeOf({ id }: FastifyRequest, act: () => Promise<object>): Promise<object> {
  try {
    return await act();
  } catch (thrown) {
    const error = fromHttp(thrown);
    reportError(logger, error, { requestId: id });
    return errorBody(error);
  }
}
