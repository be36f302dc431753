import { userInfo } from 'node:os';
import {
  accountsIndexesRpc,
  applicationsRpc,
  consoleRpc,
  deliveriesRpc,
  isConcealedSetting,
  platformsRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  type RpcContract,
  type RpcData,
  type RpcReply,
  storedSecretsRpc,
  templatesRpc,
  textMessageProvidersRpc,
  userSearchRpc,
  vendorsRpc,
} from '#contracts';
import { AppError } from '#errors';
import { RpcClient, type RpcTransport } from '#messaging';
import { isWatched, printAside } from './terminal.js';

interface AuditEntry {
  readonly action: string;
  readonly appId?: string | undefined;
  readonly target?: string | undefined;
  readonly change: Readonly<Record<string, unknown>>;
}

/** The members of a request that its audit entry holds. Others can be secrets. */
interface Act {
  readonly action: string;
  readonly target: readonly string[];
  readonly change: readonly string[];
}

const act = (action: string, target: readonly string[], change: readonly string[] = []): Act => ({
  action,
  target,
  change,
});

const VENDOR = ['vendor', 'profile', 'part'];

const ACTS: ReadonlyMap<RpcContract, Act> = new Map<RpcContract, Act>([
  [applicationsRpc.create, act('createApplication', ['id'], ['name'])],
  [applicationsRpc.changeSetting, act('changeSetting', ['name'], ['value'])],
  [applicationsRpc.changePermission, act('changeClassPermission', ['className'], ['operations', 'permission'])],
  [applicationsRpc.rotateKeys, act('rotateKeys', [], ['appKey', 'masterKey', 'keepOldSeconds'])],
  [applicationsRpc.revokeOldKeys, act('revokeOldKeys', [], ['appKey', 'masterKey'])],
  [platformsRpc.set, act('setPlatform', ['platform'], ['kind'])],
  [platformsRpc.remove, act('removePlatform', ['platform'])],
  [textMessageProvidersRpc.set, act('setTextMessageProvider', [], ['kind'])],
  [textMessageProvidersRpc.remove, act('removeTextMessageProvider', [])],
  [vendorsRpc.set, act('setVendor', VENDOR)],
  [vendorsRpc.change, act('changeVendorLanes', VENDOR, ['change'])],
  [vendorsRpc.remove, act('removeVendor', VENDOR)],
  [templatesRpc.set, act('setTemplate', ['kind', 'language'], ['parts'])],
  [templatesRpc.reset, act('resetTemplate', ['kind', 'language'])],
  [deliveriesRpc.retry, act('retryMessage', ['id'])],
  [deliveriesRpc.retryDead, act('retryDeadMessages', [])],
  [pushOperationsRpc.send, act('sendPush', [], ['body'])],
  [userSearchRpc.addIndex, act('addSearchIndex', [])],
  [userSearchRpc.removeIndex, act('removeSearchIndex', [])],
  [storedSecretsRpc.swap, act('swapSecret', [])],
  [storedSecretsRpc.forget, act('forgetSecret', [])],
  ...[accountsIndexesRpc, pushIndexesRpc].flatMap(({ add, remove }): [RpcContract, Act][] => [
    [add, act('addFieldIndex', ['className', 'fields'])],
    [remove, act('removeFieldIndex', ['className', 'fields'])],
  ]),
]);

const MAX_TARGET_LENGTH = 300;

export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Calls services for commands, and writes each act to the audit log before and after it. Without a console the act goes on unaudited. */
export class AuditedRpcClient extends RpcClient {
  constructor(
    transport: RpcTransport,
    /** A request to no process would wait for its deadline. */
    private readonly hasConsole: () => Promise<boolean>,
  ) {
    super(transport);
  }

  override async call<C extends RpcContract>(contract: C, data: RpcData<C>): Promise<RpcReply<C>> {
    const known = ACTS.get(contract);
    const request = () => super.call(contract, data);
    if (known === undefined) return request();
    const id = await this.#begin(entryOf(known, data as Readonly<Record<string, unknown>>));
    try {
      const reply = await request();
      await this.#end(id, { outcome: 'done' });
      return reply;
    } catch (error) {
      // Without a reply, or with one of another version, the service may have done the act: its entry stays open, shown as unknown.
      if (error instanceof AppError && error.status !== 503)
        await this.#end(id, { outcome: error.status < 500 ? 'refused' : 'failed', errorName: error.errorName });
      throw error;
    }
  }

  /** Records several requests as one act. @param isWhole whether the result is complete; parts may be done */
  async record<T>(entry: AuditEntry, work: () => Promise<T>, isWhole: (result: T) => boolean = () => true): Promise<T> {
    const id = await this.#begin(entry);
    try {
      const result = await work();
      await this.#end(id, { outcome: isWhole(result) ? 'done' : 'failed' });
      return result;
    } catch (error) {
      await this.#end(id, { outcome: 'failed', errorName: error instanceof AppError ? error.errorName : undefined });
      throw error;
    }
  }

  async #begin({ target, ...entry }: AuditEntry): Promise<string | undefined> {
    const begun = { ...entry, by: systemUser(), target: target?.slice(0, MAX_TARGET_LENGTH) };
    try {
      if (await this.hasConsole()) return (await super.call(consoleRpc.beginAction, begun)).id;
    } catch {
      // The line below reports it.
    }
    if (isWatched()) printAside('No console answers: this is not in the audit log.\n');
    return undefined;
  }

  async #end(id: string | undefined, ended: Omit<RpcData<typeof consoleRpc.endAction>, 'id'>): Promise<void> {
    if (id === undefined) return;
    await super.call(consoleRpc.endAction, { id, ...ended }).catch(() => {
      printAside('The outcome is not in the audit log: the console has not answered, or has closed the entry.\n');
    });
  }
}

function entryOf({ action, target, change }: Act, data: Readonly<Record<string, unknown>>): AuditEntry {
  const { appId, id, name } = data;
  const isSecret = isConcealedSetting(String(name));
  const kept = change.filter((member) => data[member] !== undefined);
  return {
    action,
    appId: textOf(appId) ?? (target.includes('id') ? undefined : textOf(id)),
    target: target.flatMap((member) => textsOf(data[member])).join(' ') || undefined,
    change: Object.fromEntries(kept.map((member) => [member, isSecret ? '(changed)' : data[member]])),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function textsOf(value: unknown): string[] {
  return [value].flat().filter((each) => typeof each === 'string');
}
