import { Injectable } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import {
  accountsRpc,
  broadcastContracts,
  type PlatformCredentials,
  type PlatformKind,
  type platformsRpc,
  type RpcData,
  type ShownCredentials,
} from '#contracts';
import { appError, messageOf } from '#errors';
import { Broadcasts, RpcClient } from '#messaging';
import { Sealer } from '#security';
import { CredentialsRepository, type CredentialsRow } from './credentials.repository.js';
import { joinCredentials, parseCredentials } from './credentials.rules.js';

/** The platform credentials of applications. Secrets are sealed at rest and never shown. */
@Injectable()
export class CredentialsService {
  /** Cached sealed, as stored: no secret stays in memory in plain text. */
  readonly #rows = new TtlCache<readonly CredentialsRow[]>((appId) => this.repository.list(appId));

  constructor(
    private readonly repository: CredentialsRepository,
    private readonly sealer: Sealer,
    private readonly rpc: RpcClient,
    private readonly broadcasts: Broadcasts,
  ) {
    this.broadcasts.on(broadcastContracts.platformsChanged, ({ appId }) => {
      this.#rows.forget(appId);
    });
  }

  /**
   * The credentials for a key of `authData`, at most one second old: those of the key, else those of its kind.
   * @returns undefined if the operator has set none
   * @throws AppError SERVICE_UNAVAILABLE if they cannot be read or opened, INVALID_IDENTITY if the key has credentials of
   * another kind. Neither must be treated as "none": then nothing would be verified.
   */
  async find<Kind extends PlatformKind>(
    appId: string,
    platform: string,
    kind: Kind,
  ): Promise<PlatformCredentials<Kind> | undefined> {
    const rows = await this.#rows.get(appId);
    const row = rows.find((one) => one.platform === platform) ?? rows.find((one) => one.platform === kind);
    if (row === undefined) return undefined;
    if (row.kind !== kind) throw appError('INVALID_IDENTITY');
    // The kind of the row has selected the schema.
    return this.open(row) as PlatformCredentials<Kind>;
  }

  /**
   * The keys of `authData` that have credentials, with the kinds that the operator has set.
   * @throws AppError SERVICE_UNAVAILABLE if they cannot be read
   */
  async kinds(appId: string): Promise<ReadonlyMap<string, PlatformKind>> {
    const rows = await this.#rows.get(appId);
    return new Map(rows.map(({ platform, kind }) => [platform, kind as PlatformKind]));
  }

  async list(appId: string): Promise<ShownCredentials[]> {
    return (await this.repository.list(appId)).map((row) => this.shown(row));
  }

  /**
   * @throws AppError INCORRECT_TYPE if the fields do not match the kind, NOT_FOUND if the application does not exist
   */
  async set({ appId, platform, kind, fields }: RpcData<typeof platformsRpc.set>): Promise<ShownCredentials> {
    const { shown, secrets } = parseCredentials(platform, kind, fields);
    const { application } = await this.rpc.call(accountsRpc.findApplication, { appId });
    if (application === null) throw appError('NOT_FOUND', { message: `There is no application "${appId}".` });
    const sealedSecrets = this.sealer.seal(JSON.stringify(secrets), credentialsContext(appId, platform));
    const row = { appId, platform, kind, shown, sealedSecrets };
    await this.repository.put(row);
    this.announce(appId);
    return this.shown(row);
  }

  /** @throws AppError NOT_FOUND if none are set */
  async remove(appId: string, platform: string): Promise<void> {
    const isRemoved = await this.repository.remove(appId, platform);
    if (!isRemoved)
      throw appError('NOT_FOUND', { message: `Application "${appId}" has no credentials for "${platform}".` });
    this.announce(appId);
  }

  /** @throws Error if a stored row was sealed with another secret: no account could be verified */
  async assertSecretFits(): Promise<void> {
    const row = await this.repository.findAny();
    if (row !== undefined) this.secretsOf(row);
  }

  private announce(appId: string): void {
    this.#rows.forget(appId);
    this.broadcasts.send(broadcastContracts.platformsChanged, { appId });
  }

  private open(row: CredentialsRow): PlatformCredentials {
    return openOrFail(row, () => joinCredentials(row.kind, { shown: row.shown, secrets: this.secretsOf(row) }));
  }

  private shown(row: CredentialsRow): ShownCredentials {
    const secrets = openOrFail(row, () => Object.keys(this.secretsOf(row)));
    return { platform: row.platform, kind: row.kind as PlatformKind, shown: { ...row.shown }, secrets };
  }

  private secretsOf({ appId, platform, sealedSecrets }: CredentialsRow): Record<string, string> {
    return JSON.parse(this.sealer.open(sealedSecrets, credentialsContext(appId, platform))) as Record<string, string>;
  }
}

/** The sealing context of the secrets of an application for a platform. */
export function credentialsContext(appId: string, platform: string): string {
  return `platform credentials of ${appId} for ${platform}`;
}

/** @throws AppError SERVICE_UNAVAILABLE; for the log, its cause names the credentials and the reason */
function openOrFail<T>({ appId, platform }: CredentialsRow, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const reason = `the credentials of application ${appId} for ${platform} cannot be used: ${messageOf(error)}`;
    throw appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });
  }
}
