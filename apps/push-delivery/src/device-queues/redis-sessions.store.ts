import { NOW, type Redis, RedisScript } from '#redis';
import type { ConnectorNode, ConnectorNodes } from './connector-nodes.js';
import { BEGIN as BEGIN_IN_PARTITION, NEEDS_NO_ROOM, PAGE, SESSION } from './redis-queue-scripts.store.js';

/** Leases by node, port and data name by node, and when nodes with sessions were found dead. The last key never exists (RedisScript). */
const KEYS = ['push:{nodes}:leases', 'push:{nodes}:known', 'push:{nodes}:dead', 'push:{nodes}'];

const BEGIN = `${NOW}
local leases, known, dead = KEYS[1], KEYS[2], KEYS[3]
local function newName() return time[1] .. '.' .. time[2] end
local function portAndName(node) return string.match(redis.call('HGET', known, node) or '', '^(%d+) (.*)$') end
`;

/** The removal comes first: it needs no memory. Reply: the lease, which is renamed once it has expired or its sessions are being ended. */
const BEAT = new RedisScript(`${BEGIN}
local node, port, leaseMs = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease = redis.call('ZSCORE', leases, node)
redis.call('ZREM', leases, node)
local _, name = portAndName(node)
if not lease or tonumber(lease) <= now or not name or redis.call('ZSCORE', dead, node) then name = newName() end
redis.call('ZADD', leases, now + leaseMs, node)
redis.call('HSET', known, node, port .. ' ' .. name)
return name
`);

const LEAVE = new RedisScript(`${BEGIN}
if redis.call('ZSCORE', leases, ARGV[1]) then redis.call('ZADD', leases, 0, ARGV[1]) end
`);

const LIVE = new RedisScript(`${BEGIN}
local found = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. now, '+inf')) do
  table.insert(found, node)
  table.insert(found, (portAndName(node)))
end
return found
`);

const REAP_EXPIRED = new RedisScript(`${BEGIN}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', now)) do
  redis.call('ZREM', leases, node)
  redis.call('HDEL', known, node)
  redis.call('ZADD', dead, now, node)
end
return redis.call('ZRANGE', dead, 0, -1)
`);

/** A returned node gets a new name: sessions that it has registered may be gone. */
const ACKNOWLEDGE_REAPED = new RedisScript(`${BEGIN}
for _, node in ipairs(ARGV) do
  redis.call('ZREM', dead, node)
  local port = portAndName(node)
  if port then redis.call('HSET', known, node, port .. ' ' .. newName()) end
end
`);

/** Sessions of a device conflict; conflicts within a minute of each other add up. */
export const CONNECT = new RedisScript(`${BEGIN_IN_PARTITION}${PAGE}${SESSION}${NEEDS_NO_ROOM}
local app, installation, node, session, limit, conflictMs =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local before = redis.call('HGET', sessionsOf(app), installation)
local beforeNode, beforeSession, conflicts, since = false, false, 0, 0
if before then
  beforeNode, beforeSession = ownerOf(before)
  conflicts, since = string.match(before, '^%S+ (%d+) (%d+)')
  if beforeNode == node and beforeSession == session then
    beforeNode, beforeSession = false, false
  else
    conflicts = since + conflictMs > now and conflicts + 1 or 1
    since = now
  end
end
local value = string.format('%s %d %.0f %s', node, conflicts, since, session)
redis.call('HSET', sessionsOf(app), installation, value)
redis.call('SADD', base .. ':apps', app)
return { beforeNode, beforeSession, tonumber(conflicts), pageOf(queueOf(app, installation), limit) }
`);

/** ARGV: 1 after a data loss, else 0; then the sessions. Reply: indexes of devices with a session elsewhere, and of those without one. */
export const REASSERT = new RedisScript(`${BEGIN_IN_PARTITION}${SESSION}${NEEDS_NO_ROOM}
local function startOf(session) return tonumber(string.match(session, '^%w+%.(%w+)%.') or '0', 36) or 0 end
local elsewhere, restored = {}, {}
for place = 2, #ARGV, 4 do
  local app, installation, node, session = ARGV[place], ARGV[place + 1], ARGV[place + 2], ARGV[place + 3]
  local known = redis.call('HGET', sessionsOf(app), installation)
  local knownNode, knownSession
  if known then knownNode, knownSession = ownerOf(known) end
  local isOutdated = known and ARGV[1] == '1' and startOf(knownSession) < startOf(session)
  if known and knownNode ~= node and not isOutdated then
    table.insert(elsewhere, (place - 2) / 4)
  elseif knownNode ~= node or knownSession ~= session then
    redis.call('HSET', sessionsOf(app), installation, node .. ' 0 0 ' .. session)
    redis.call('SADD', base .. ':apps', app)
    if not known then table.insert(restored, (place - 2) / 4) end
  end
end
return { elsewhere, restored }
`);

export const DISCONNECT = new RedisScript(`${BEGIN_IN_PARTITION}${SESSION}
for place = 1, #ARGV, 4 do
  local app, installation, node, session = ARGV[place], ARGV[place + 1], ARGV[place + 2], ARGV[place + 3]
  local known = redis.call('HGET', sessionsOf(app), installation)
  if known then
    local knownNode, knownSession = ownerOf(known)
    if knownNode == node and knownSession == session then redis.call('HDEL', sessionsOf(app), installation) end
  end
end
`);

export const COUNT_CONNECTED = new RedisScript(`${BEGIN_IN_PARTITION}
return redis.call('HLEN', sessionsOf(ARGV[1]))
`);

const COUNT_ALL_CONNECTED = new RedisScript(`${BEGIN_IN_PARTITION}
local found = {}
for _, app in ipairs(redis.call('SMEMBERS', base .. ':apps')) do
  table.insert(found, { app, redis.call('HLEN', sessionsOf(app)) })
end
return found
`);

/** ARGV: application, cursor, number. The reply has the next cursor, then installation, node and session of each. */
export const LIST_CONNECTED = new RedisScript(`${BEGIN_IN_PARTITION}${SESSION}
local scanned = redis.call('HSCAN', sessionsOf(ARGV[1]), ARGV[2], 'COUNT', ARGV[3])
local found = { scanned[1] }
for place = 1, #scanned[2], 2 do
  local node, session = ownerOf(scanned[2][place + 1])
  table.insert(found, scanned[2][place])
  table.insert(found, node)
  table.insert(found, session)
end
return found
`);

const FIND_APPS = new RedisScript(`${BEGIN_IN_PARTITION}
return redis.call('SMEMBERS', base .. ':apps')
`);

const END_SESSIONS = new RedisScript(`${BEGIN_IN_PARTITION}${SESSION}
local app, cursor = ARGV[1], ARGV[2]
local dead = {}
for place = 3, #ARGV do dead[ARGV[place]] = true end
local scanned = redis.call('HSCAN', sessionsOf(app), cursor, 'COUNT', 500)
for place = 1, #scanned[2], 2 do
  if dead[(ownerOf(scanned[2][place + 1]))] then redis.call('HDEL', sessionsOf(app), scanned[2][place]) end
end
if redis.call('EXISTS', sessionsOf(app)) == 0 then redis.call('SREM', base .. ':apps', app) end
return scanned[1]
`);

type RunInPartition = (script: RedisScript, values: readonly string[]) => Promise<unknown>;

export async function endSessionsIn(run: RunInPartition, nodes: readonly string[]): Promise<void> {
  const apps = (await run(FIND_APPS, [])) as string[];
  for (const app of apps) {
    let cursor = '0';
    do cursor = (await run(END_SESSIONS, [app, cursor, ...nodes])) as string;
    while (cursor !== '0');
  }
}

export async function countAllConnected(
  run: (script: RedisScript) => Promise<[app: string, connected: number][][]>,
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const [app, connected] of (await run(COUNT_ALL_CONNECTED)).flat())
    sums.set(app, (sums.get(app) ?? 0) + connected);
  return sums;
}

export class RedisConnectorNodes implements ConnectorNodes {
  constructor(
    private readonly redis: Redis,
    private readonly leaseMs: number,
  ) {}

  /** The lease's name alone would not show that another master of a cluster has lost sessions. */
  async beat({ id, port }: ConnectorNode): Promise<string> {
    const [lease, memory] = await Promise.all([
      this.redis.run<string>(BEAT, KEYS, [id, port, this.leaseMs]),
      this.redis.memory(),
    ]);
    return `${memory} ${lease}`;
  }

  async leave(nodeId: string): Promise<void> {
    await this.redis.run(LEAVE, KEYS, [nodeId]);
  }

  async live(): Promise<ConnectorNode[]> {
    const found = await this.redis.run<string[]>(LIVE, KEYS, []);
    return Array.from({ length: found.length / 2 }, (_, index) => ({
      id: found[index * 2] ?? '',
      port: Number(found[index * 2 + 1]),
    }));
  }

  reapExpired(): Promise<string[]> {
    return this.redis.run<string[]>(REAP_EXPIRED, KEYS, []);
  }

  async acknowledgeReaped(nodeIds: readonly string[]): Promise<void> {
    if (nodeIds.length > 0) await this.redis.run(ACKNOWLEDGE_REAPED, KEYS, nodeIds);
  }
}
