import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { MemoryRequestCounter } from '#admission';
import { Clock } from '#bootstrap';
import { gatewayRpc, type LimitedClient, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { type Redis, RedisScript } from '#redis';
import { KEY_PREFIX } from './redis-request-counter.store.js';

type Listing = typeof gatewayRpc.listLimitedClients;
type RefusedClient = Pick<LimitedClient, 'group' | 'network'>;

/** DI token of the process's `LimitedClients`. */
export const LIMITED_CLIENTS = Symbol('LimitedClients');

/** Beyond this number of clients of one application, those whose windows end first are dropped. */
const MAX_CLIENTS = 1_000;

/** The clients whose requests are refused now. They are for operators to read; no decision depends on them. */
export interface LimitedClients {
  /** Notes a client at the first refusal of a window. @param resetMs until the window ends */
  note(appId: string, client: RefusedClient, resetMs: number): Promise<void>;
  /** The latest windows first. @throws AppError SERVICE_UNAVAILABLE */
  list(appId: string, limit: number): Promise<LimitedClient[]>;
}

/** The key of a client's counter. An application id has no spaces. */
export function counterKeyOf(appId: string, { group, network }: RefusedClient): string {
  return `${group}:${appId} ${network}`;
}

/** For one process. */
export class MemoryLimitedClients implements LimitedClients {
  readonly #byApplication = new Map<string, LRUCache<string, RefusedClient>>();

  constructor(
    private readonly counter: MemoryRequestCounter,
    private readonly clock: Clock,
  ) {}

  note(appId: string, client: RefusedClient, resetMs: number): Promise<void> {
    const clients = this.#byApplication.get(appId) ?? new LRUCache({ max: MAX_CLIENTS });
    clients.set(counterKeyOf(appId, client), client, { ttl: resetMs });
    this.#byApplication.set(appId, clients);
    return Promise.resolve();
  }

  list(appId: string, limit: number): Promise<LimitedClient[]> {
    const now = this.clock.now().getTime();
    const clients = this.#byApplication.get(appId);
    const noted = [...(clients?.entries() ?? [])].map(([key, client]) => ({
      ...client,
      count: this.counter.countOf(key),
      until: new Date(now + (clients?.getRemainingTTL(key) ?? 0)).toISOString(),
    }));
    return Promise.resolve(noted.sort((one, other) => (one.until < other.until ? 1 : -1)).slice(0, limit));
  }
}

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const NOTE = new RedisScript(`${NOW}
local client, resetMs, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + resetMs, client)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -max - 1)
redis.call('PEXPIRE', KEYS[1], math.max(resetMs, redis.call('PTTL', KEYS[1])))
`);

const LIST = new RedisScript(`${NOW}
return redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', '(' .. now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
`);

const COUNT_OF = new RedisScript(`return tonumber(redis.call('GET', KEYS[1]) or 0)`);

/** For all gateways together. */
export class RedisLimitedClients implements LimitedClients {
  constructor(private readonly redis: Redis) {}

  async note(appId: string, { group, network }: RefusedClient, resetMs: number): Promise<void> {
    await this.redis.run(NOTE, [listKeyOf(appId)], [`${group} ${network}`, resetMs, MAX_CLIENTS]);
  }

  async list(appId: string, limit: number): Promise<LimitedClient[]> {
    const found = await this.redis.run<string[]>(LIST, [listKeyOf(appId)], [limit]);
    const clients = Array.from({ length: found.length / 2 }, (_, index) => {
      const [group = '', network = ''] = found[index * 2]?.split(' ') ?? [];
      return { group, network, until: new Date(Number(found[index * 2 + 1])).toISOString() };
    });
    // The counters are on several nodes of a cluster.
    const counterOf = (client: RefusedClient) => `${KEY_PREFIX}:${counterKeyOf(appId, client)}`;
    return Promise.all(
      clients.map(async (client) => ({
        ...client,
        count: await this.redis.run<number>(COUNT_OF, [counterOf(client)], []),
      })),
    );
  }
}

function listKeyOf(appId: string): string {
  return `${KEY_PREFIX}:limited:${appId}`;
}

/** Reports to operators which clients are limited. */
@Controller()
export class LimitedClientsController {
  constructor(@Inject(LIMITED_CLIENTS) private readonly clients: LimitedClients) {}

  @RpcHandler(gatewayRpc.listLimitedClients)
  async list({ appId, limit }: RpcData<Listing>): Promise<RpcReply<Listing>> {
    return { clients: await this.clients.list(appId, limit) };
  }
}
