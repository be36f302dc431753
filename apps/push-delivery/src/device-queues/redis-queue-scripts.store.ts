import { IS_BEHIND, NOW, type Redis, RedisScript } from '#redis';
import { PARTITIONS } from './device-queues.js';

export const ALL_PARTITIONS: readonly number[] = Array.from({ length: PARTITIONS }, (_, partition) => partition);
/** A prefix, which is no key itself, and one of the keys (RedisScript). */
const PARTITION_KEYS = ALL_PARTITIONS.map((partition) => [`push:{${partition}}`, `push:{${partition}}:apps`]);

export function runInPartition<Reply>(
  redis: Redis,
  script: RedisScript,
  partition: number,
  values: readonly (string | number)[],
): Promise<Reply> {
  return redis.run<Reply>(script, PARTITION_KEYS[partition] ?? [], values);
}

/** Scripts except those of messages work in the partition KEYS[1] (README: Keys). A member is `id expiry platform`, its score the order. */
export const BEGIN = `${NOW}
local base = KEYS[1]
local function queueOf(app, installation) return base .. ':queue:' .. app .. ':' .. installation end
local function tallyOf(app, id) return base .. ':tally:' .. app .. ':' .. id end
local function sessionsOf(app) return base .. ':sessions:' .. app end
local function isExpired(member) return tonumber(string.match(member, '^%S+ (%d+)')) <= now end
`;

/** Redis out of memory allows all writes of a script whose first one needs no memory: so devices can log in and acknowledge. */
export const NEEDS_NO_ROOM = `
redis.call('DEL', base)
`;

const UNEXPIRED = `
local function unexpired(queue, members)
  local found, expired = {}, {}
  for _, member in ipairs(members) do table.insert(isExpired(member) and expired or found, member) end
  if #expired > 0 then redis.call('ZREM', queue, unpack(expired)) end
  return found, #expired
end
`;

/** Counts for a push that still has statistics. `recordCounted` lists changed pushes for the sums (redis-push-statistics.store.ts). */
const COUNT_FOR = `
local counted = {}
local function countFor(app, id, kind, platform, count)
  local tally = tallyOf(app, id)
  if redis.call('HEXISTS', tally, 'enqueued:' .. platform) == 1 then
    redis.call('HINCRBY', tally, kind .. platform, count)
    counted[app .. ' ' .. id] = true
  end
end
local function recordCounted()
  local stamp = string.format('%s%06d', time[1], time[2])
  for push in pairs(counted) do redis.call('ZADD', base .. ':changed', stamp, push) end
end
`;

/** `dropped`: minus the drops unknown to the device; `reported`: minus the position before them, from the time in µs on, so none recurs. */
const DROPS = `
local function dropsOf(queue)
  local dropped = -(tonumber(redis.call('ZSCORE', queue, 'dropped') or '0'))
  return dropped, dropped - tonumber(redis.call('ZSCORE', queue, 'reported') or '0')
end
local function recordDrops(queue, count)
  if not redis.call('ZSCORE', queue, 'dropped') then
    redis.call('ZADD', queue, -(time[1] * 1000000 + time[2]), 'reported')
  end
  redis.call('ZINCRBY', queue, -count, 'dropped')
end
`;

/** Whether the queue holds more, the number of drops, the position of the last one, and the members. */
export const PAGE = `
${UNEXPIRED}${DROPS}
local function pageOf(queue, limit)
  local found, expired
  repeat
    found, expired = unexpired(queue, redis.call('ZRANGEBYSCORE', queue, '(0', '+inf', 'LIMIT', 0, limit + 1))
  until expired == 0
  local hasMore = #found > limit
  if hasMore then table.remove(found) end
  local dropped, droppedUpTo = dropsOf(queue)
  return { hasMore and 1 or 0, dropped, droppedUpTo, found }
end
`;

/** A session is `node conflicts since session`; `since` is the time of the last conflict. */
export const SESSION = `
local function ownerOf(value)
  local node, session = string.match(value, '^(%S+) %d+ %d+ (.*)$')
  return node, session
end
`;

/** Moves the mark first: this write needs memory. ARGV: see the first lines, then installation, platform and position of each device. Reply: index and node of those connected. */
export const ENQUEUE = new RedisScript(`${BEGIN}${IS_BEHIND}${UNEXPIRED}${DROPS}${COUNT_FOR}${SESSION}
local app, id, order, expiresAt, limit, keepMs =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local untilExpiry = expiresAt - now
local installations = {}
for place = 7, #ARGV, 3 do installations[#installations + 1] = ARGV[place] end
local sessions = redis.call('HMGET', sessionsOf(app), unpack(installations))
local tally = tallyOf(app, id)
local mark = redis.call('HGET', tally, 'mark') or ''
local last = ARGV[#ARGV]
if isBehind(last, mark) then
  redis.call('HSET', tally, 'mark', last)
  redis.call('PEXPIREAT', tally, expiresAt + keepMs)
end

local function dropOldest(queue, own)
  local members = unexpired(queue, redis.call('ZRANGEBYSCORE', queue, '(0', '+inf'))
  local isOwnLeft, over = true, #members - limit
  for place = 1, over do
    local member = members[place]
    local droppedId, platform = string.match(member, '^(%S+) %d+ (.*)$')
    redis.call('ZREM', queue, member)
    countFor(app, droppedId, 'overflowed:', platform, 1)
    if member == own then isOwnLeft = false end
  end
  if over > 0 then recordDrops(queue, over) end
  return isOwnLeft
end

local call, queues, ref = redis.call, queueOf(app, ''), id .. ' ' .. expiresAt .. ' '
local function put(queue, member)
  call('ZADD', queue, order, member)
  local count = call('ZCARD', queue)
  if count == 1 or call('PTTL', queue) < untilExpiry then call('PEXPIREAT', queue, expiresAt) end
  return count <= limit or dropOldest(queue, member)
end

local fresh, enqueued, isAllFresh = #installations + 1, {}, isBehind(ARGV[9], mark)
for place = #installations, 1, -1 do
  if not isAllFresh and not isBehind(ARGV[place * 3 + 6], mark) then break end
  local platform = ARGV[place * 3 + 5]
  fresh, enqueued[platform] = place, (enqueued[platform] or 0) + 1
end
for platform, count in pairs(enqueued) do redis.call('HINCRBY', tally, 'enqueued:' .. platform, count) end
if next(enqueued) then counted[app .. ' ' .. id] = true end

local connected = {}
for place, installation in ipairs(installations) do
  local platform, isThere = ARGV[place * 3 + 5], false
  if place >= fresh then
    isThere = untilExpiry > 0 and put(queues .. installation, ref .. platform)
  elseif sessions[place] then
    isThere = call('ZSCORE', queues .. installation, ref .. platform)
  end
  if isThere and sessions[place] then
    table.insert(connected, place)
    table.insert(connected, (ownerOf(sessions[place])))
  end
end
recordCounted()
return connected
`);

export const PEEK = new RedisScript(`${BEGIN}${PAGE}
return pageOf(queueOf(ARGV[1], ARGV[2]), tonumber(ARGV[3]))
`);

/** ARGV per message: application, member, number of devices, their installations. Each removal counts once. */
export const ACKNOWLEDGE = new RedisScript(`${BEGIN}${COUNT_FOR}${NEEDS_NO_ROOM}
local call, place = redis.call, 1
while place <= #ARGV do
  local app, member, last = ARGV[place], ARGV[place + 1], place + 2 + ARGV[place + 2]
  local queues, removed = queueOf(app, ''), 0
  for at = place + 3, last do removed = removed + call('ZREM', queues .. ARGV[at], member) end
  if removed > 0 then
    local id, platform = string.match(member, '^(%S+) %d+ (.*)$')
    countFor(app, id, 'acknowledged:', platform, removed)
  end
  place = last + 1
end
recordCounted()
`);

/** ARGV per device: application, installation, position of the last known drop. Repetitions change nothing. */
export const REPORT_DROPPED = new RedisScript(`${BEGIN}${DROPS}${NEEDS_NO_ROOM}
for place = 1, #ARGV, 3 do
  local queue, reportedUpTo = queueOf(ARGV[place], ARGV[place + 1]), tonumber(ARGV[place + 2])
  local dropped, droppedUpTo = dropsOf(queue)
  local left = droppedUpTo - reportedUpTo
  if left <= 0 then
    redis.call('ZREM', queue, 'dropped', 'reported')
  elseif left < dropped then
    redis.call('ZADD', queue, -left, 'dropped', -reportedUpTo, 'reported')
  end
end
`);

/** ARGV: application, installation, members. They count as those that a full queue drops. */
export const DISCARD = new RedisScript(`${BEGIN}${DROPS}${COUNT_FOR}${NEEDS_NO_ROOM}
local app, queue = ARGV[1], queueOf(ARGV[1], ARGV[2])
for place = 3, #ARGV do
  local id, platform = string.match(ARGV[place], '^(%S+) %d+ (.*)$')
  if redis.call('ZSCORE', queue, ARGV[place]) then
    -- In this order, the queue is never empty, so it keeps its expiry.
    recordDrops(queue, 1)
    redis.call('ZREM', queue, ARGV[place])
    countFor(app, id, 'overflowed:', platform, 1)
  end
end
recordCounted()
`);

/** ARGV: application and installation of each device. Their messages count as those that a full queue drops. */
export const CLEAR = new RedisScript(`${BEGIN}${COUNT_FOR}${NEEDS_NO_ROOM}
for place = 1, #ARGV, 2 do
  local app, queue = ARGV[place], queueOf(ARGV[place], ARGV[place + 1])
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', queue, '(0', '+inf')) do
    local id, platform = string.match(member, '^(%S+) %d+ (.*)$')
    if not isExpired(member) then countFor(app, id, 'overflowed:', platform, 1) end
  end
  redis.call('DEL', queue)
end
recordCounted()
`);

/** ARGV: application, installations. The reply has node, session, number of messages and of drops of each. */
export const DESCRIBE = new RedisScript(`${BEGIN}${DROPS}${SESSION}
local app, found = ARGV[1], {}
for place = 2, #ARGV do
  local value, queue, waiting = redis.call('HGET', sessionsOf(app), ARGV[place]), queueOf(app, ARGV[place]), 0
  local node, session = '', ''
  if value then node, session = ownerOf(value) end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', queue, '(0', '+inf')) do
    if not isExpired(member) then waiting = waiting + 1 end
  end
  table.insert(found, { node, session, waiting, (dropsOf(queue)) })
end
return found
`);

/** Written before any reference to it; all partitions share one message. */
export const PUT_MESSAGE = new RedisScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX') then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
`);

export const GET_MESSAGE = new RedisScript(`
return redis.call('GET', KEYS[1])
`);
