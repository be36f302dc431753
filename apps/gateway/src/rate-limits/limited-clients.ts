import { Controller, Inject } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { MemoryRequestCounter } from '#admission';
import { Clock } from '#bootstrap';
import { gatewayRpc, type LimitedClient, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';

type Listing = typeof gatewayRpc.listLimitedClients;
export type RefusedClient = Pick<LimitedClient, 'group' | 'network'>;

/** DI token of the process's `LimitedClients`. */
export const LIMITED_CLIENTS = Symbol('LimitedClients');

/** Beyond this number of clients of one application, those whose windows end first are dropped. */
export const MAX_CLIENTS = 1_000;

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

/** Reports to operators which clients are limited. */
@Controller()
export class LimitedClientsController {
  constructor(@Inject(LIMITED_CLIENTS) private readonly clients: LimitedClients) {}

  @RpcHandler(gatewayRpc.listLimitedClients)
  async list({ appId, limit }: RpcData<Listing>): Promise<RpcReply<Listing>> {
    return { clients: await this.clients.list(appId, limit) };
  }
}
