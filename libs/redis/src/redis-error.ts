import { ReplyError } from 'ioredis';
import { appError, messageOf } from '#errors';

/** Replies that say "not now": loading, a replica, no memory, a disk that is full, a password that does not fit, and the like. */
const TRANSIENT_REPLY =
  /^(?:LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/**
 * A failed command as an error of ours. Whatever is no reply of Redis is a failure to reach it: SERVICE_UNAVAILABLE. Other
 * replies are mistakes of ours and stay as they are.
 */
export function translateRedisError(error: unknown): unknown {
  const message = messageOf(error);
  if (isReply(error) && !TRANSIENT_REPLY.test(message)) return error;
  return appError('SERVICE_UNAVAILABLE', { cause: new Error(`Redis: ${message}`) });
}

/** Whether Redis does not know the script, because it was started anew or flushed. */
export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && messageOf(error).startsWith('NOSCRIPT');
}

function isReply(error: unknown): boolean {
  return error instanceof (ReplyError as new () => Error);
}
