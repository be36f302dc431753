import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { accountsRpc, type Application, broadcastHints } from '#contracts';
import { Broadcasts, RpcClient } from '#messaging';

/** An answer, "unknown" too, is kept for this time at most, in milliseconds (docs/decisions.md). */
const TTL_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly application: Application | null;
}

/** The applications that requests name, asked from accounts. */
@Injectable()
export class ApplicationDirectory {
  readonly #entries = new LRUCache<string, Entry>({
    max: MAX_ENTRIES,
    ttl: TTL_MS,
    // A change in the middle of a look-up drops the entry; whoever waits still gets an answer.
    ignoreFetchAbort: true,
    fetchMethod: (appId) => this.rpc.call(accountsRpc.findApplication, { appId }),
  });

  constructor(
    private readonly rpc: RpcClient,
    broadcasts: Broadcasts,
  ) {
    broadcasts.on(broadcastHints.applicationChanged, ({ appId }) => this.#entries.delete(appId));
  }

  async find(appId: string): Promise<Application | null> {
    return (await this.#entries.fetch(appId))?.application ?? null;
  }
}
