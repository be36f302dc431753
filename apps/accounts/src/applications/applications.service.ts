import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  type Application,
  applicationSettings,
  type ApplicationSettings,
  broadcastHints,
  type ClassName,
  type ClassOperation,
  type ClassPermission,
  classPermissions,
  type ClassPermissions,
} from '#contracts';
import { Database } from '#database';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { Sealer } from '#sealing';
import { newAppId, newAppKey } from '../random-ids.js';
import { type ApplicationRow, ApplicationsRepository } from './applications.repository.js';
import { parseSetting } from './setting.rules.js';

/** Settings work everywhere within this time, in milliseconds (docs/decisions.md). */
const SETTINGS_TTL_MS = 1_000;
const MAX_CACHED_APPLICATIONS = 10_000;

/** What an application lets happen. */
type ApplicationPolicy = Pick<Application, 'settings' | 'classPermissions'>;

export interface PermissionChange {
  readonly className: ClassName;
  readonly operations: readonly ClassOperation[];
  readonly permission: ClassPermission;
}

export interface NewApplication {
  readonly name: string;
  readonly id?: string | undefined;
  readonly appKey?: string | undefined;
  readonly masterKey?: string | undefined;
}

/** Applications: their keys, sealed at rest, and their settings. */
@Injectable()
export class ApplicationsService {
  readonly #policies = new LRUCache<string, ApplicationPolicy>({
    max: MAX_CACHED_APPLICATIONS,
    ttl: SETTINGS_TTL_MS,
    // A change in the middle of a look-up drops the entry; whoever waits still gets an answer.
    ignoreFetchAbort: true,
    fetchMethod: async (id) => policyOf(await this.repository.find(id)),
  });

  constructor(
    private readonly repository: ApplicationsRepository,
    private readonly database: Database,
    private readonly sealer: Sealer,
    private readonly broadcasts: Broadcasts,
  ) {
    this.broadcasts.on(broadcastHints.applicationChanged, ({ appId }) => this.#policies.delete(appId));
  }

  /** Settings of an application, at most a second old. */
  async settingsOf(appId: string): Promise<ApplicationSettings> {
    return (await this.policy(appId)).settings;
  }

  /** Class permissions of an application, at most a second old. */
  async permissionsOf(appId: string): Promise<ClassPermissions> {
    return (await this.policy(appId)).classPermissions;
  }

  async find(id: string): Promise<Application | null> {
    const row = await this.repository.find(id);
    return row === undefined ? null : this.open(row);
  }

  async get(id: string): Promise<Application> {
    return this.openKnown(id, await this.repository.find(id));
  }

  /** @throws Error where the stored keys were sealed with another secret: then nobody could be let in */
  async assertSecretFits(): Promise<void> {
    const row = await this.repository.findAny();
    if (row !== undefined) this.open(row);
  }

  async list(): Promise<Application[]> {
    return (await this.repository.list()).map((row) => this.open(row));
  }

  async create(wanted: NewApplication): Promise<Application> {
    const sealed = this.seal(wanted);
    const row = await this.database.transaction((tx) => this.repository.insert(tx, sealed));
    if (row === undefined)
      throw appError('UNIQUE_FIELD_TAKEN', { message: `The application id "${sealed.id}" is taken.` });
    return this.open(row);
  }

  /** Creates an application where there is none yet. @returns undefined where there was one */
  async createFirst(wanted: NewApplication): Promise<Application | undefined> {
    const sealed = this.seal(wanted);
    const row = await this.database.transaction(async (tx) =>
      (await this.repository.lockAndCheckEmpty(tx)) ? this.repository.insert(tx, sealed) : undefined,
    );
    return row === undefined ? undefined : this.open(row);
  }

  async changeSetting(id: string, name: string, value: string): Promise<ApplicationSettings> {
    const { userQueryEnabled, ...changes } = parseSetting(name, value);
    if (userQueryEnabled !== undefined) {
      const permission = userQueryEnabled ? 'everyone' : [];
      return (await this.changePermission(id, { className: '_User', operations: ['find'], permission })).settings;
    }
    const row = await this.database.transaction((tx) => this.repository.changeSettings(tx, id, changes));
    return this.announce(this.openKnown(id, row)).settings;
  }

  async changePermission(id: string, { className, operations, permission }: PermissionChange): Promise<Application> {
    const changes = Object.fromEntries(operations.map((operation) => [operation, permission]));
    const row = await this.database.transaction((tx) => this.repository.changePermission(tx, id, className, changes));
    return this.announce(this.openKnown(id, row));
  }

  /** Makes new keys. The old ones stop to work within a second. */
  async rotateKeys(id: string, which: { appKey: boolean; masterKey: boolean }): Promise<Application> {
    // It opens the old keys: with another secret than theirs, new ones would only hide that everything else is lost.
    await this.get(id);
    const fresh = (wanted: boolean, kind: KeyKind) => (wanted ? this.sealKey(id, kind, newAppKey()) : null);
    const row = await this.database.transaction((tx) =>
      this.repository.replaceKeys(tx, id, fresh(which.appKey, 'app'), fresh(which.masterKey, 'master')),
    );
    return this.announce(this.openKnown(id, row));
  }

  private async policy(appId: string): Promise<ApplicationPolicy> {
    const policy = await this.#policies.fetch(appId);
    if (policy === undefined) throw appError('SERVICE_UNAVAILABLE');
    return policy;
  }

  private announce(application: Application): Application {
    this.#policies.delete(application.id);
    this.broadcasts.send(broadcastHints.applicationChanged, { appId: application.id });
    return application;
  }

  private seal({ id = newAppId(), name, appKey = newAppKey(), masterKey = newAppKey() }: NewApplication) {
    return {
      id,
      name,
      sealedAppKey: this.sealKey(id, 'app', appKey),
      sealedMasterKey: this.sealKey(id, 'master', masterKey),
    };
  }

  private sealKey(id: string, kind: KeyKind, key: string): string {
    return this.sealer.seal(key, keyContext(id, kind));
  }

  private openKnown(id: string, row: ApplicationRow | undefined): Application {
    if (row === undefined) throw appError('NOT_FOUND', { message: `There is no application "${id}".` });
    return this.open(row);
  }

  private open(row: ApplicationRow): Application {
    return {
      id: row.id,
      name: row.name,
      appKey: this.sealer.open(row.sealedAppKey, keyContext(row.id, 'app')),
      masterKey: this.sealer.open(row.sealedMasterKey, keyContext(row.id, 'master')),
      ...policyOf(row),
      createdAt: row.createdAt.toISOString(),
    };
  }
}

/** What was set, over the defaults. `userQueryEnabled` is no setting of its own but a class permission's short name. */
function policyOf(row: ApplicationRow | undefined): ApplicationPolicy {
  const permissions = classPermissions.parse(row?.classPermissions ?? {});
  const userQueryEnabled = permissions._User.find === 'everyone';
  const settings = applicationSettings.parse({ ...row?.settings, userQueryEnabled });
  return { settings, classPermissions: permissions };
}

type KeyKind = 'app' | 'master';

function keyContext(appId: string, kind: KeyKind): string {
  return `${kind} key of ${appId}`;
}
