import { isIPv4 } from 'node:net';
import { Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { TtlCache } from '#bootstrap';
import {
  accountsRpc,
  appId as appIdSchema,
  type Application,
  broadcastContracts,
  MAX_LISTED_APPLICATIONS,
} from '#contracts';
import { AppError, appError, messageOf } from '#errors';
import { Broadcasts, RpcClient } from '#messaging';

interface RequestOrigin {
  readonly ip: string;
  readonly ips?: readonly string[] | undefined;
}

/** `ips` ends at the first address that is no trusted proxy; where that is no address, the proxy counts. Empty after the connection's end. */
export function clientAddressOf({ ip, ips = [ip] }: RequestOrigin): string {
  const address = ips.findLast((each) => isIPv4(each) || ipaddr.isValid(each));
  if (address === undefined || isIPv4(address)) return address ?? '';
  return ipaddr.process(address).toString();
}

/** The unit that counts as one client: an IPv4 address, or an IPv6 /64 network, all of whose addresses one client can use. */
export function clientNetworkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

const UNKNOWN_TTL_MS = 10_000;
const LIST_TTL_MS = 10_000;

/** Finds the applications that requests name, by RPC to accounts. */
@Injectable()
export class ApplicationDirectory {
  readonly #answers = new TtlCache((appId) => this.rpc.call(accountsRpc.findApplication, { appId }), {
    absent: { is: ({ application }) => application === null, ttlMs: UNKNOWN_TTL_MS },
  });
  readonly #ids = new TtlCache(() => this.#readIds(), { ttlMs: LIST_TTL_MS });
  /** Ids of applications that this process has found. No entry expires, because applications are never removed. */
  readonly #familiar = new LRUCache<string, true>({ max: MAX_LISTED_APPLICATIONS });

  constructor(
    private readonly rpc: RpcClient,
    broadcasts: Broadcasts,
  ) {
    broadcasts.on(broadcastContracts.applicationChanged, ({ appId }) => {
      this.#answers.forget(appId);
      this.#familiar.set(appId, true);
    });
  }

  /** At most 1 s old; null, at most 10 s old, where it is unknown. The error has a cause: accounts logs a shared read without request ids. */
  async find(appId: string): Promise<Application | null> {
    if (!canBeAppId(appId)) return null;
    const { application } = await this.#answers.get(appId).catch((error: unknown) => {
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error(`accounts cannot find ${appId}: ${messageOf(error)}`) });
    });
    if (application !== null) this.#familiar.set(appId, true);
    return application;
  }

  async assertKnown(appId: string): Promise<void> {
    if ((await this.find(appId)) === null)
      throw appError('NOT_FOUND', { message: `There is no application "${appId}".` });
  }

  isFamiliar(appId: string): boolean {
    return this.#familiar.has(appId);
  }

  /** Whether accounts lists the application. The process requests the list at most once in 10 s, whatever ids are asked for. */
  async isListed(appId: string): Promise<boolean> {
    if (!canBeAppId(appId)) return false;
    return (await this.#ids.get('all')).has(appId);
  }

  async #readIds(): Promise<ReadonlySet<string>> {
    try {
      return new Set((await this.rpc.call(accountsRpc.listApplicationIds, {})).appIds);
    } catch (error) {
      // While accounts is unavailable, or too old for this RPC, only familiar applications count as listed.
      if (error instanceof AppError) return new Set();
      throw error;
    }
  }
}

/** Accounts is not asked for texts that cannot be ids. */
function canBeAppId(appId: string): boolean {
  return appIdSchema.safeParse(appId).success;
}
