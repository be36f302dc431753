import { LOGIN_METHODS } from '#contracts';
import { IS_BEHIND, NOW, type Redis, RedisScript } from '#redis';
import type {
  AttemptResult,
  Failure,
  Lockout,
  LockoutLimits,
  LockoutPage,
  LockoutStatus,
  LockoutStore,
  LockoutSubject,
  ReserveOutcome,
  SettleOutcome,
} from './lockout.rules.js';

// Sorted sets that expire with their last member: failures by time, reservations by expiry, locks by end, the failures that led to the lock. The
// last key never exists (RedisScript). `lockedFor` is 0 without a lock.
const BEGIN = `${NOW}
local failures, reservations, locks, lockFailures = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local user, attempt = ARGV[1], ARGV[2]
local lockingFailure, windowMs, lockMs, reservationMs =
  tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
redis.call('ZREMRANGEBYSCORE', failures, '-inf', now - windowMs)
redis.call('ZREMRANGEBYSCORE', reservations, '-inf', now)
redis.call('ZREMRANGEBYSCORE', locks, '-inf', now)
local lockedUntil = redis.call('ZSCORE', locks, user)
local lockedFor = lockedUntil and lockedUntil - now or 0
`;

const RESERVE = new RedisScript(`${BEGIN}
if lockedFor > 0 then return { 'locked', lockedFor } end
if redis.call('ZCARD', failures) + redis.call('ZCARD', reservations) >= lockingFailure then return { 'full', 0 } end
redis.call('ZADD', reservations, now + reservationMs, attempt)
redis.call('PEXPIRE', reservations, reservationMs)
return { 'reserved', 0 }
`);

const SETTLE = new RedisScript(`${BEGIN}
local isCorrect = ARGV[7] == '1'
if lockedFor > 0 then return { 'locked', lockedFor, 0 } end
local kind = redis.call('ZREM', reservations, attempt) == 1 and 'settled' or 'late'
if isCorrect then return { kind, 0, 0 } end
redis.call('ZADD', failures, now, ARGV[8] .. ':' .. attempt)
redis.call('PEXPIRE', failures, windowMs)
if redis.call('ZCARD', failures) < lockingFailure then return { kind, 0, 0 } end
redis.call('DEL', reservations)
redis.call('RENAME', failures, lockFailures)
redis.call('PEXPIRE', lockFailures, lockMs)
redis.call('ZADD', locks, now + lockMs, user)
redis.call('PEXPIRE', locks, lockMs)
if kind == 'late' then return { kind, 0, 1 } end
return { 'locked', lockMs, 1 }
`);

const RELEASE = new RedisScript(`${BEGIN}
redis.call('ZREM', reservations, attempt)
`);

const CLEAR = new RedisScript(`${BEGIN}
redis.call('DEL', failures, lockFailures)
redis.call('ZREM', locks, user)
`);

const FIND = new RedisScript(`${BEGIN}
return { lockedUntil or '0', redis.call('ZRANGE', lockedUntil and lockFailures or failures, 0, -1, 'WITHSCORES') }
`);

const LOCKED_FOR = new RedisScript(`
local lockedUntil = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not lockedUntil then return 0 end
${NOW}
return math.max(0, lockedUntil - now)
`);

/** Users whose locks end in the same millisecond are ordered by id: first the rest of the cursor's millisecond, then the later ones. */
const LIST = new RedisScript(`${NOW}${IS_BEHIND}
local locks, limit, afterTime, afterUser = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
redis.call('ZREMRANGEBYSCORE', locks, '-inf', now)
local found = {}
for _, user in ipairs(redis.call('ZRANGEBYSCORE', locks, afterTime, afterTime)) do
  if isBehind(user, afterUser) and #found < limit * 2 then
    table.insert(found, user)
    table.insert(found, afterTime)
  end
end
local later = redis.call('ZRANGEBYSCORE', locks, '(' .. afterTime, '+inf', 'WITHSCORES', 'LIMIT', 0, limit - #found / 2)
for _, value in ipairs(later) do table.insert(found, value) end
return found
`);

const LOCKS_OF = new RedisScript(`${NOW}
local found = {}
for _, user in ipairs(ARGV) do
  local lockedUntil = redis.call('ZSCORE', KEYS[1], user)
  if lockedUntil and tonumber(lockedUntil) > now then
    table.insert(found, user)
    table.insert(found, lockedUntil)
  end
end
return found
`);

export class RedisLockoutStore implements LockoutStore {
  readonly #limits: readonly number[];

  constructor(
    private readonly redis: Redis,
    { lockingFailure, windowMs, lockMs, reservationMs }: LockoutLimits,
  ) {
    this.#limits = [lockingFailure, windowMs, lockMs, reservationMs];
  }

  async reserve(subject: LockoutSubject, id: string): Promise<ReserveOutcome> {
    const [kind, remainingMs] = await this.#transition<[ReserveOutcome['kind'], number]>(RESERVE, subject, id);
    return kind === 'locked' ? { kind, remainingMs } : { kind };
  }

  async settle(subject: LockoutSubject, { id, method, isCorrect }: AttemptResult): Promise<SettleOutcome> {
    type Reply = [SettleOutcome['kind'], number, number];
    const [kind, remainingMs, isNew] = await this.#transition<Reply>(SETTLE, subject, id, isCorrect ? 1 : 0, method);
    const isLockNew = isNew === 1;
    return kind === 'locked' ? { kind, remainingMs, isLockNew } : { kind, isLockNew };
  }

  async release(subject: LockoutSubject, id: string): Promise<void> {
    await this.#transition(RELEASE, subject, id);
  }

  async clear(subject: LockoutSubject): Promise<void> {
    await this.#transition(CLEAR, subject);
  }

  async lockedForMs({ appId, userId }: LockoutSubject): Promise<number> {
    return this.redis.run<number>(LOCKED_FOR, [locksKey(appId)], [userId]);
  }

  async find(subject: LockoutSubject): Promise<LockoutStatus> {
    const [lockedUntil, found] = await this.#transition<[string, string[]]>(FIND, subject);
    const failures = pairsIn(found).map(([attempt, atMs]) => ({ atMs: Number(atMs), method: methodOf(attempt) }));
    return { lockedUntil: lockedUntil === '0' ? undefined : new Date(Number(lockedUntil)), failures };
  }

  async list(appId: string, { limit, after }: LockoutPage): Promise<Lockout[]> {
    const cursor = [after?.lockedUntil.getTime() ?? 0, after?.userId ?? ''];
    return locksIn(await this.redis.run<string[]>(LIST, [locksKey(appId)], [limit, ...cursor]));
  }

  async locksOf(appId: string, userIds: readonly string[]): Promise<Lockout[]> {
    return locksIn(await this.redis.run<string[]>(LOCKS_OF, [locksKey(appId)], [...userIds]));
  }

  #transition<Reply>(
    script: RedisScript,
    { appId, userId }: LockoutSubject,
    id = '',
    ...rest: (number | string)[]
  ): Promise<Reply> {
    const user = `{${keyPart(appId)}}:${keyPart(userId)}`;
    const keys = [
      `lockout:failures:${user}`,
      `lockout:reservations:${user}`,
      locksKey(appId),
      `lockout:lock-failures:${user}`,
      `lockout:{${keyPart(appId)}}`,
    ];
    return this.redis.run<Reply>(script, keys, [userId, id, ...this.#limits, ...rest]);
  }
}

function locksIn(found: readonly string[]): Lockout[] {
  return pairsIn(found).map(([userId, until]) => ({ userId, lockedUntil: new Date(Number(until)) }));
}

function pairsIn(found: readonly string[]): [string, string][] {
  return Array.from({ length: found.length / 2 }, (_, index) => [found[index * 2] ?? '', found[index * 2 + 1] ?? '']);
}

/** The method before the id of an attempt; earlier versions store the id alone. */
function methodOf(attempt: string): Failure['method'] {
  const [method] = attempt.split(':', 1);
  return LOGIN_METHODS.find((known) => known === method) ?? null;
}

/** The hash tag keeps the keys of an application in one slot of a Redis cluster. */
function locksKey(appId: string): string {
  return `lockout:locks:{${keyPart(appId)}}`;
}

/** Escapes braces and colons, so keys of different ids never collide. */
function keyPart(id: string): string {
  return encodeURIComponent(id);
}
