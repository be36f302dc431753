import type { JsonObject, JsonValue } from '#contracts';
import { dateOf } from '#objects';
import { incorrect, isLeftOut } from './push-field.rules.js';

/** Earlier than that ahead a push is sent at once, in milliseconds (the API's rule). */
const AT_ONCE_MS = 60_000;
const DEFAULT_LIFE_MS = 7 * 24 * 3_600_000;
const LONGEST_AHEAD_SECONDS = 10 * 365 * 24 * 3_600;

export interface PushTimes {
  readonly dueAt: Date;
  readonly expiresAt: Date;
}

/** When a push is sent, and from when on no device gets it any more. @throws AppError INCORRECT_TYPE */
export function parseTimes(body: JsonObject, now: Date): PushTimes {
  const dueAt = parseDue(body['push_time'], now);
  const expiresAt = parseExpiry(body, dueAt);
  if (expiresAt <= dueAt) throw incorrect('A push must expire later than it is sent.');
  if (expiresAt.getTime() - now.getTime() > LONGEST_AHEAD_SECONDS * 1_000)
    throw incorrect('The times of a push lie ten years ahead at most.');
  return { dueAt, expiresAt };
}

function parseDue(value: JsonValue | undefined, now: Date): Date {
  if (isLeftOut(value)) return now;
  const time = parseTime('push_time', value);
  return time.getTime() - now.getTime() < AT_ONCE_MS ? now : time;
}

function parseExpiry({ expiration_time: time, expiration_interval: seconds }: JsonObject, dueAt: Date): Date {
  if (!isLeftOut(time) && !isLeftOut(seconds))
    throw incorrect('Give expiration_time or expiration_interval, not both.');
  if (!isLeftOut(time)) return parseTime('expiration_time', time);
  if (isLeftOut(seconds)) return new Date(dueAt.getTime() + DEFAULT_LIFE_MS);
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds > LONGEST_AHEAD_SECONDS)
    throw incorrect('expiration_interval is a whole number of seconds, ten years at most.');
  return new Date(dueAt.getTime() + seconds * 1_000);
}

function parseTime(name: string, value: JsonValue): Date {
  const time = dateOf(value);
  if (time === undefined) throw incorrect(`${name} must be an ISO 8601 time.`);
  return time;
}
