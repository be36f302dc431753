import { randomUUID } from 'node:crypto';
import { chunksOf, ConcurrencyLimiter, groupedBy } from '#bootstrap';
import { type Redis, RedisScript } from '#redis';
import { BEHIND_ALL, type MessageId, partitionOf, type QueueStatistics } from './device-queues.js';
import { ALL_PARTITIONS, BEGIN, runInPartition } from './redis-queue-scripts.store.js';

const SCRIPT_PUSHES = 50;
/** Another command waits for the scripts of this many pushes for less than a millisecond. */
const PUSHES_AT_ONCE = 240;
/** A script counts as this many pushes: Redis needs 9 µs for it, and 5 µs for each push. */
const SCRIPT_COST = 8;
const MARK_KEPT_MS = 60 * 60 * 1_000;
/** Then another process may add up the counts. */
const LEASE_MS = 1_500;
const LEASE_KEY = 'push:totals:lease';

/** ARGV: application and id of each push. Reply as JSON, parsed faster: index from one, and counts. `key`: a Lua function for the key of the counts. */
const countsAt = (key: string) =>
  new RedisScript(`${BEGIN}
local function totalOf(app, id) return base .. ':total:' .. app .. ':' .. id end
local found = {}
for place = 1, #ARGV, 2 do
  local counts = redis.call('HGETALL', ${key}(ARGV[place], ARGV[place + 1]))
  if #counts > 0 then found[#found + 1] = { (place + 1) / 2, counts } end
end
return #found > 0 and cjson.encode(found) or '[]'
`);

const STATISTICS = countsAt('tallyOf');

const TOTALS = countsAt('totalOf');

/** The mark stays, because a dispatcher that lost its lease may still be working. */
const FORGET = new RedisScript(`${BEGIN}
local tally = tallyOf(ARGV[1], ARGV[2])
if redis.call('DEL', tally) == 1 then
  redis.call('HSET', tally, 'mark', ARGV[3])
  redis.call('PEXPIRE', tally, ARGV[4])
end
`);

const FORGET_TOTAL = new RedisScript(`
local push = ARGV[1] .. ':' .. ARGV[2]
redis.call('DEL', KEYS[1] .. ':total:' .. push, KEYS[1] .. ':parts:' .. push)
`);

/** ARGV: process, milliseconds. The reply is 1 if the process has the lease. */
const TAKE_LEASE = new RedisScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** ARGV: limit. JSON, longest changed first: application, id, stamp of the change, milliseconds until the counts expire, counts. */
const FIND_CHANGED = new RedisScript(`${BEGIN}
local found = {}
local changed = redis.call('ZRANGE', base .. ':changed', 0, ARGV[1] - 1, 'WITHSCORES')
for place = 1, #changed, 2 do
  local app, id = string.match(changed[place], '^(.*) (%S+)$')
  local tally = tallyOf(app, id)
  found[#found + 1] = { app, id, changed[place + 1], redis.call('PTTL', tally), redis.call('HGETALL', tally) }
end
return #found > 0 and cjson.encode(found) or '[]'
`);

/** Adds what has grown since `parts`. ARGV per push: application, id, partition, milliseconds to keep the sums, counts as JSON. */
const ADD_UP = new RedisScript(`
for place = 1, #ARGV, 5 do
  local push, partition, keepMs = ARGV[place] .. ':' .. ARGV[place + 1], ARGV[place + 2], tonumber(ARGV[place + 3])
  local total, parts = KEYS[1] .. ':total:' .. push, KEYS[1] .. ':parts:' .. push
  local known, counts = {}, cjson.decode(ARGV[place + 4])
  local before = redis.call('HGET', parts, partition)
  if before then
    local list = cjson.decode(before)
    for at = 1, #list, 2 do known[list[at]] = list[at + 1] end
  end
  local added = {}
  for at = 1, #counts, 2 do
    local name, count = counts[at], tonumber(counts[at + 1])
    local had = tonumber(known[name] or '0')
    if count > had then redis.call('HINCRBY', total, name, count - had) end
    added[#added + 1] = name
    added[#added + 1] = string.format('%.0f', math.max(count, had))
  end
  redis.call('HSET', parts, partition, cjson.encode(added))
  for _, key in ipairs({ total, parts }) do
    if redis.call('PTTL', key) < keepMs then redis.call('PEXPIRE', key, keepMs) end
  end
end
`);

/** Unless they have changed again. ARGV: application, id and stamp of each. */
const SETTLE_CHANGED = new RedisScript(`
local changed = KEYS[1] .. ':changed'
for place = 1, #ARGV, 3 do
  local push = ARGV[place] .. ' ' .. ARGV[place + 1]
  if redis.call('ZSCORE', changed, push) == ARGV[place + 2] then redis.call('ZREM', changed, push) end
end
`);

type ChangedReply = [appId: string, id: string, stamp: string, keepMs: number, counts: string[] | object];

interface Change extends MessageId {
  readonly partition: number;
  readonly stamp: string;
  readonly keepMs: number;
  readonly counts: readonly string[];
}

const NOTHING: QueueStatistics = { enqueued: 0, acknowledged: 0, overflowed: 0 };

/** The counts of each partition, and their sums, which one process at a time keeps up to date (ADR 36). */
export class RedisPushStatistics {
  /** One after the other: reads of many pushes in all partitions are thousands of look-ups. */
  readonly #reads = new ConcurrencyLimiter({ concurrency: 1 });
  readonly #name = randomUUID();

  constructor(private readonly redis: Redis) {}

  async exact(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    const found = pushes.map(() => new Map<string, QueueStatistics>());
    const reads = chunksOf([...pushes.entries()], SCRIPT_PUSHES).flatMap((some) =>
      ALL_PARTITIONS.map((partition) => ({
        pushes: some.length,
        run: () => this.#read(STATISTICS, partition, { some, found }),
      })),
    );
    await this.#reads.run(() => runTogether(reads));
    return found;
  }

  async recent(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    const found = pushes.map(() => new Map<string, QueueStatistics>());
    await forEachPartition(
      [...pushes.entries()],
      ([, push]) => totalPartitionOf(push),
      (partition, some) => this.#read(TOTALS, partition, { some, found }),
    );
    return found;
  }

  /** One process at a time. @returns whether more may be left */
  async addUp(): Promise<boolean> {
    if ((await this.redis.run<number>(TAKE_LEASE, [LEASE_KEY], [this.#name, LEASE_MS])) === 0) return false;
    const changes: Change[] = [];
    let isMore = false;
    const findIn = async (partition: number) => {
      const some = await this.#changedIn(partition);
      changes.push(...some);
      isMore ||= some.length === SCRIPT_PUSHES;
    };
    await runTogether(ALL_PARTITIONS.map((partition) => ({ pushes: SCRIPT_PUSHES, run: () => findIn(partition) })));
    await forEachPartition(changes, totalPartitionOf, (partition, some) =>
      this.#run(ADD_UP, partition, some.filter(({ counts }) => counts.length > 0).flatMap(additionValues)),
    );
    const stampOf = ({ appId, id, stamp }: Change) => [appId, id, stamp];
    await forEachPartition(
      changes,
      ({ partition }) => partition,
      (partition, some) => this.#run(SETTLE_CHANGED, partition, some.flatMap(stampOf)),
    );
    return isMore;
  }

  async forget(push: MessageId): Promise<void> {
    const values = [push.appId, push.id, BEHIND_ALL, MARK_KEPT_MS];
    await Promise.all(ALL_PARTITIONS.map((partition) => this.#run(FORGET, partition, values)));
    await this.#run(FORGET_TOTAL, totalPartitionOf(push), [push.appId, push.id]);
  }

  #run<Reply>(script: RedisScript, partition: number, values: readonly (string | number)[]): Promise<Reply> {
    return runInPartition<Reply>(this.redis, script, partition, values);
  }

  async #changedIn(partition: number): Promise<Change[]> {
    const reply = await this.#run<string>(FIND_CHANGED, partition, [SCRIPT_PUSHES]);
    return (JSON.parse(reply) as ChangedReply[]).map(([appId, id, stamp, keepMs, counts]) => {
      // Lua writes an empty list as an object.
      const pairs = Array.isArray(counts) ? pairsOf(counts).filter(([name]) => isCounted(kindOf(name))) : [];
      return { appId, id, partition, stamp, keepMs, counts: pairs.flat() };
    });
  }

  async #read(
    script: RedisScript,
    partition: number,
    {
      some,
      found,
    }: { readonly some: readonly (readonly [number, MessageId])[]; readonly found: Map<string, QueueStatistics>[] },
  ): Promise<void> {
    const values = some.flatMap(([, { appId, id }]) => [appId, id]);
    const reply = await this.#run<string>(script, partition, values);
    for (const [place, counts] of JSON.parse(reply) as [number, string[]][]) {
      const statistics = found[some[place - 1]?.[0] ?? -1];
      if (statistics !== undefined) addCounts(statistics, counts);
    }
  }
}

function totalPartitionOf({ appId, id }: MessageId): number {
  return partitionOf({ appId, installationId: id });
}

interface CountingScript {
  readonly pushes: number;
  readonly run: () => Promise<unknown>;
}

/** Few scripts at once, so that other commands do not wait for all of them. */
async function runTogether(scripts: readonly CountingScript[]): Promise<void> {
  let together: Promise<unknown>[] = [];
  let pushes = 0;
  for (const script of scripts) {
    if (pushes > 0 && pushes + SCRIPT_COST + script.pushes > PUSHES_AT_ONCE) {
      await Promise.all(together);
      together = [];
      pushes = 0;
    }
    together.push(script.run());
    pushes += SCRIPT_COST + script.pushes;
  }
  await Promise.all(together);
}

function forEachPartition<Item>(
  items: readonly Item[],
  partitionFor: (item: Item) => number,
  run: (partition: number, some: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  const scripts = groupedBy(items, partitionFor).flatMap(([partition, all]) =>
    chunksOf(all, SCRIPT_PUSHES).map((some) => ({ pushes: some.length, run: () => run(partition, some) })),
  );
  return runTogether(scripts);
}

function additionValues({ appId, id, partition, keepMs, counts }: Change): (string | number)[] {
  return [appId, id, partition, keepMs, JSON.stringify(counts)];
}

/** Names such as `enqueued:android`, each followed by its number. */
function addCounts(statistics: Map<string, QueueStatistics>, counts: readonly string[]): void {
  for (const [name, value] of pairsOf(counts)) {
    const kind = kindOf(name);
    if (!isCounted(kind)) continue;
    const platform = name.slice(kind.length + 1);
    const sums = statistics.get(platform) ?? NOTHING;
    statistics.set(platform, { ...sums, [kind]: sums[kind] + Number(value) });
  }
}

function kindOf(name: string): string {
  const [kind = ''] = name.split(':', 1);
  return kind;
}

function isCounted(kind: string): kind is keyof QueueStatistics {
  return Object.hasOwn(NOTHING, kind);
}

function pairsOf(reply: readonly string[]): [string, string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[index * 2] ?? '', reply[index * 2 + 1] ?? '']);
}
