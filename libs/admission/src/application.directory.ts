import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { RecentReads } from '#bootstrap';
import {
  accountsRpc,
  appId as appIdSchema,
  type Application,
  broadcastHints,
  MAX_LISTED_APPLICATIONS,
} from '#contracts';
import { AppError } from '#errors';
import { Broadcasts, RpcClient } from '#messaging';

/** How long an id that no application has counts as such, in milliseconds, where no broadcast says otherwise. */
const UNKNOWN_TTL_MS = 10_000;
/** How old the list of all ids may be, in milliseconds. */
const LIST_TTL_MS = 10_000;

/** The applications that requests name, asked from accounts. */
@Injectable()
export class ApplicationDirectory {
  readonly #answers = new RecentReads((appId) => this.rpc.call(accountsRpc.findApplication, { appId }), {
    absent: { is: ({ application }) => application === null, ttlMs: UNKNOWN_TTL_MS },
  });
  readonly #ids = new RecentReads(() => this.#readIds(), { ttlMs: LIST_TTL_MS });
  /** Ids of applications that were there. Applications are not removed. */
  readonly #familiar = new LRUCache<string, true>({ max: MAX_LISTED_APPLICATIONS });

  constructor(
    private readonly rpc: RpcClient,
    broadcasts: Broadcasts,
  ) {
    broadcasts.on(broadcastHints.applicationChanged, ({ appId }) => {
      this.#answers.forget(appId);
      this.#familiar.set(appId, true);
    });
  }

  /** @returns the application as it was a second ago at most; null where there is none, or was none ten seconds ago */
  async find(appId: string): Promise<Application | null> {
    if (!canBeAppId(appId)) return null;
    const { application } = await this.#answers.get(appId);
    if (application !== null) this.#familiar.set(appId, true);
    return application;
  }

  /** Whether this process has met the application. To ask costs nothing. */
  isFamiliar(appId: string): boolean {
    return this.#familiar.has(appId);
  }

  /** Whether the application is among those that accounts lists. Whatever ids are asked for, accounts is asked once in ten seconds. */
  async isListed(appId: string): Promise<boolean> {
    if (!canBeAppId(appId)) return false;
    return (await this.#ids.get('all')).has(appId);
  }

  async #readIds(): Promise<ReadonlySet<string>> {
    try {
      return new Set((await this.rpc.call(accountsRpc.listApplicationIds, {})).appIds);
    } catch (error) {
      // While accounts is away, or of a version without this RPC, only the applications that this process has met are known.
      if (error instanceof AppError) return new Set();
      throw error;
    }
  }
}

/** What no application can be called, is not asked for. */
function canBeAppId(appId: string): boolean {
  return appIdSchema.safeParse(appId).success;
}
