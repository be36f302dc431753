import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import {
  type Application,
  applicationSettings,
  type ApplicationSettings,
  type applicationsRpc,
  broadcastContracts,
  classPermissions,
  type ClassPermissions,
  MAX_LISTED_APPLICATIONS,
  type OldKey,
  type RpcData,
  SETTING_NAMES,
  settingText,
} from '#contracts';
import { Database, type Tx } from '#database';
import { type AppError, appError, messageOf } from '#errors';
import { Broadcasts } from '#messaging';
import { UnfitError } from '#observability';
import { randomDigits, Sealer } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import {
  assertForwardsElsewhere,
  isSecretSetting,
  keyContext,
  type KeyKind,
  parseSecret,
  parseSetting,
  secretContext,
} from './application.rules.js';
import {
  type ApplicationRow,
  ApplicationsRepository,
  type OldApplicationKeyEntity,
} from './applications.repository.js';

type ApplicationProfile = Pick<Application, 'name' | 'settings' | 'classPermissions'>;

type PermissionChange = Omit<RpcData<typeof applicationsRpc.changePermission>, 'id'>;
type SettingChange = Omit<RpcData<typeof applicationsRpc.changeSetting>, 'id'>;

interface WhichKeys {
  readonly appKey: boolean;
  readonly masterKey: boolean;
}

interface KeyRotation extends WhichKeys {
  /** How long old keys stay valid. Null: until they are revoked; undefined: they end at once. */
  readonly keepOldSeconds?: number | null | undefined;
}

const newAppId = (): string => randomDigits(24, 62);
const newAppKey = newAppId;

/** A request with an unknown key is compared with all of them. */
const MAX_OLD_KEYS = 10;

export interface NewApplication {
  readonly name: string;
  readonly id?: string | undefined;
  readonly appKey?: string | undefined;
  readonly masterKey?: string | undefined;
}

@Injectable()
export class ApplicationsService {
  readonly #profiles = new TtlCache(async (id) => {
    const row = await this.repository.find(id);
    return { ...profileOf(row), isKnown: row !== undefined };
  });

  constructor(
    private readonly repository: ApplicationsRepository,
    private readonly database: Database,
    private readonly sealer: Sealer,
    private readonly broadcasts: Broadcasts,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'baseUrl'>,
  ) {
    this.broadcasts.on(broadcastContracts.applicationChanged, ({ appId }) => {
      this.#profiles.forget(appId);
    });
  }

  async settingsOf(appId: string): Promise<ApplicationSettings> {
    return (await this.profileOf(appId)).settings;
  }

  async permissionsOf(appId: string): Promise<ClassPermissions> {
    return (await this.profileOf(appId)).classPermissions;
  }

  /** At most a second old, as are the settings and permissions alone. */
  profileOf(appId: string): Promise<ApplicationProfile> {
    return this.#profiles.get(appId);
  }

  /** @throws AppError NOT_FOUND where there has been no such application within the last second */
  async assertKnown(id: string): Promise<void> {
    const { isKnown } = await this.#profiles.get(id);
    if (!isKnown) throw unknownApplication(id);
  }

  /** Read in the transaction, which must not wait for another connection. */
  async profileWithin(tx: Tx, id: string): Promise<ApplicationProfile> {
    return profileOf(await this.repository.find(id, tx));
  }

  /** With its secret settings, for services. */
  async find(id: string): Promise<Application | null> {
    const row = await this.repository.find(id);
    if (row === undefined) return null;
    const { sealedForwardSecret: sealed } = row;
    const secrets =
      sealed === null ? {} : { forwardSecret: this.sealer.open(sealed, secretContext(id, 'forwardSecret')) };
    return { ...this.#open(row), ...secrets };
  }

  async get(id: string): Promise<Application> {
    return this.#openKnown(id, await this.repository.find(id));
  }

  /** @throws UnfitError where the stored keys were sealed with another secret: then no client could be authenticated */
  async assertSecretFits(): Promise<void> {
    const row = await this.repository.findAny();
    try {
      if (row !== undefined) this.#open(row);
    } catch (cause) {
      throw new UnfitError(messageOf(cause), { cause });
    }
  }

  async list(): Promise<Application[]> {
    return (await this.repository.list()).map((row) => this.#open(row));
  }

  listIds(): Promise<string[]> {
    return this.repository.listIds(MAX_LISTED_APPLICATIONS);
  }

  async create(wanted: NewApplication): Promise<Application> {
    const sealed = this.#seal(wanted);
    const row = await this.database.transaction((tx) => this.repository.insert(tx, sealed));
    if (row === undefined)
      throw appError('UNIQUE_FIELD_TAKEN', { message: `The application id "${sealed.id}" is taken.` });
    return this.#announce(this.#open(row));
  }

  /** @returns undefined if one exists */
  async createFirst(wanted: NewApplication): Promise<Application | undefined> {
    const sealed = this.#seal(wanted);
    const row = await this.database.transaction(async (tx) =>
      (await this.repository.lockAndCheckEmpty(tx)) ? this.repository.insert(tx, sealed) : undefined,
    );
    return row === undefined ? undefined : this.#announce(this.#open(row));
  }

  /** @throws AppError NO_EFFECT where the stored value is not `former` */
  async changeSetting(id: string, { name, value, former }: SettingChange): Promise<ApplicationSettings> {
    if (isSecretSetting(name)) return this.#changeForwardSecret(id, parseSecret(name, value));
    const { userQueryEnabled, ...changes } = parseSetting(name, value);
    assertForwardsElsewhere(changes.forwardUrl, this.config.baseUrl);
    const isFormer = ({ settings }: ApplicationProfile) =>
      former === undefined || SETTING_NAMES.some((each) => each === name && settingText(settings[each]) === former);
    if (userQueryEnabled !== undefined) {
      const permission = userQueryEnabled ? 'everyone' : [];
      const write = (tx: Tx) => this.repository.changePermission(tx, id, '_User', { find: permission });
      return (await this.#change(id, isFormer, write)).settings;
    }
    return (await this.#change(id, isFormer, (tx) => this.repository.changeSettings(tx, id, changes))).settings;
  }

  /** @throws AppError NO_EFFECT where a stored permission is not `former` */
  changePermission(id: string, { className, operations, permission, former }: PermissionChange): Promise<Application> {
    const changes = Object.fromEntries(operations.map((operation) => [operation, permission]));
    const isFormer = ({ classPermissions: stored }: ApplicationProfile) =>
      former === undefined || operations.every((each) => isDeepStrictEqual(stored[className][each], former));
    return this.#change(id, isFormer, (tx) => this.repository.changePermission(tx, id, className, changes));
  }

  /** Old keys stop working within a second, unless they are kept. @throws AppError NO_EFFECT where there are too many of them */
  async rotateKeys(id: string, { keepOldSeconds, ...which }: KeyRotation): Promise<Application> {
    // It opens the old keys: if they were sealed with another secret, new keys would hide that all other sealed data is lost.
    await this.get(id);
    const keys = {
      ...(which.appKey ? { sealedAppKey: this.#sealKey(id, 'app', newAppKey()) } : {}),
      ...(which.masterKey ? { sealedMasterKey: this.#sealKey(id, 'master', newAppKey()) } : {}),
    };
    const row = await this.database.transaction(async (tx) => {
      await this.repository.removeExpiredKeys(tx, id);
      if (keepOldSeconds !== undefined) await this.repository.keepKeys(tx, id, kindsOf(which), keepOldSeconds);
      const replaced = await this.repository.replaceKeys(tx, id, keys);
      if ((replaced?.oldKeys.length ?? 0) > MAX_OLD_KEYS) throw tooManyOldKeys(id);
      return replaced;
    });
    return this.#announce(this.#openKnown(id, row));
  }

  async revokeOldKeys(id: string, which: WhichKeys): Promise<Application> {
    await this.database.transaction((tx) => this.repository.removeOldKeys(tx, id, kindsOf(which)));
    return this.#announce(await this.get(id));
  }

  async #change(
    id: string,
    isFormer: (stored: ApplicationProfile) => boolean,
    write: (tx: Tx) => Promise<ApplicationRow | undefined>,
  ): Promise<Application> {
    const row = await this.database.transaction(async (tx) => {
      const stored = await this.repository.lock(tx, id);
      if (stored !== undefined && !isFormer(profileOf(stored)))
        throw appError('NO_EFFECT', { message: 'The value has changed since it was read: read it again.' });
      return write(tx);
    });
    return this.#announce(this.#openKnown(id, row));
  }

  async #changeForwardSecret(id: string, secret: string): Promise<ApplicationSettings> {
    const sealed = secret === '' ? null : this.sealer.seal(secret, secretContext(id, 'forwardSecret'));
    const row = await this.database.transaction((tx) => this.repository.changeForwardSecret(tx, id, sealed));
    return this.#announce(this.#openKnown(id, row)).settings;
  }

  #announce(application: Application): Application {
    this.#profiles.forget(application.id);
    this.broadcasts.send(broadcastContracts.applicationChanged, { appId: application.id });
    return application;
  }

  #seal({ id = newAppId(), name, appKey = newAppKey(), masterKey = newAppKey() }: NewApplication) {
    return {
      id,
      name,
      sealedAppKey: this.#sealKey(id, 'app', appKey),
      sealedMasterKey: this.#sealKey(id, 'master', masterKey),
    };
  }

  #sealKey(id: string, kind: KeyKind, key: string): string {
    return this.sealer.seal(key, keyContext(id, kind));
  }

  #openKnown(id: string, row: ApplicationRow | undefined): Application {
    if (row === undefined) throw unknownApplication(id);
    return this.#open(row);
  }

  #openOld(id: string, { kind, sealedKey, replacedAt, acceptedUntil }: OldApplicationKeyEntity): OldKey {
    return {
      kind,
      key: this.sealer.open(sealedKey, keyContext(id, kind)),
      replacedAt: replacedAt.toISOString(),
      acceptedUntil: acceptedUntil?.toISOString() ?? null,
    };
  }

  #open(row: ApplicationRow): Application {
    return {
      id: row.id,
      appKey: this.sealer.open(row.sealedAppKey, keyContext(row.id, 'app')),
      masterKey: this.sealer.open(row.sealedMasterKey, keyContext(row.id, 'master')),
      oldKeys: row.oldKeys.map((old) => this.#openOld(row.id, old)),
      ...profileOf(row),
      secretsSet: row.sealedForwardSecret === null ? [] : ['forwardSecret'],
      createdAt: row.createdAt.toISOString(),
    };
  }
}

function kindsOf({ appKey, masterKey }: WhichKeys): KeyKind[] {
  return [...(appKey ? (['app'] as const) : []), ...(masterKey ? (['master'] as const) : [])];
}

function tooManyOldKeys(id: string): AppError {
  return appError('NO_EFFECT', {
    message: `Application "${id}" has ${MAX_OLD_KEYS} old keys that are still valid: revoke them first (apps revoke-old-keys ${id}).`,
  });
}

function unknownApplication(id: string): AppError {
  return appError('NOT_FOUND', { message: `There is no application "${id}".` });
}

/** The explicit values over the defaults. `userQueryEnabled` is not stored: it stands for the class permission `_User.find`. */
function profileOf(row: ApplicationRow | undefined): ApplicationProfile {
  const permissions = classPermissions.parse(row?.classPermissions ?? {});
  const userQueryEnabled = permissions._User.find === 'everyone';
  const settings = applicationSettings.parse({ ...row?.settings, userQueryEnabled });
  return { name: row?.name ?? '', settings, classPermissions: permissions };
}
