import { ReplyError } from 'ioredis';
import { appError, messageOf, ServerAway } from '#errors';

/**
 * Replies that say "not now": loading, a replica, no memory, a disk that is full, a password that does not fit, keys that
 * move to another node of a cluster, and the like.
 */
const TRANSIENT_REPLY =
  /^(?:LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/** Of these, the replies of a server that starts or is replaced: over without an operator. */
const AWAY_REPLY = /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

/**
 * A failed command as an error of ours. Whatever is no reply of Redis is a failure to reach it: SERVICE_UNAVAILABLE. Other
 * replies are mistakes of ours and stay as they are.
 */
export function translateRedisError(error: unknown): unknown {
  const message = messageOf(error);
  if (isReply(error) && !TRANSIENT_REPLY.test(message)) return error;
  const isAway = !isReply(error) || AWAY_REPLY.test(message);
  const reason = `Redis: ${message}`;
  return appError('SERVICE_UNAVAILABLE', { cause: isAway ? new ServerAway(reason) : new Error(reason) });
}

/** Whether Redis does not know the script, because it was started anew or flushed. */
export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && messageOf(error).startsWith('NOSCRIPT');
}

function isReply(error: unknown): boolean {
  return error instanceof (ReplyError as new () => Error);
}
