import { Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { TtlCache } from '#bootstrap';
import {
  ANONYMOUS_PLATFORM,
  broadcastContracts,
  credentialProblem,
  isUnionIdEntryName,
  PLATFORM_CREDENTIALS,
  PLATFORM_KINDS,
  type PlatformCredentials,
  type PlatformKind,
  type platformsRpc,
  type RpcData,
  type ShownCredentials,
  type SplitCredentials,
  splitCredentials,
} from '#contracts';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { SealedCredentials, Sealer } from '#security';
import { signingProblem } from '../platforms/signing-keys.js';
import { CredentialsRepository, type CredentialsRow } from './credentials.repository.js';

type RowKey = Pick<CredentialsRow, 'appId' | 'platform'>;

@Injectable()
export class CredentialsService {
  /** Cached sealed, as stored: no secret stays in memory in plain text. */
  readonly #rows = new TtlCache<readonly CredentialsRow[]>((appId) => this.repository.list(appId));
  readonly #sealed: SealedCredentials<RowKey>;

  constructor(
    private readonly repository: CredentialsRepository,
    sealer: Sealer,
    private readonly applications: ApplicationDirectory,
    private readonly broadcasts: Broadcasts,
  ) {
    this.#sealed = new SealedCredentials(sealer, {
      context: ({ appId, platform }) => credentialsContext(appId, platform),
      title: ({ appId, platform }) => `credentials of application ${appId} for ${platform}`,
    });
    this.broadcasts.on(broadcastContracts.platformsChanged, ({ appId }) => {
      this.#rows.forget(appId);
    });
  }

  /** Of the key, else its kind. @throws AppError SERVICE_UNAVAILABLE, INVALID_IDENTITY: as "none" every claim would pass unverified */
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
    return this.#sealed.openOrFail(row, (parts) => joinCredentials(kind, parts)) as PlatformCredentials<Kind>;
  }

  async kinds(appId: string): Promise<ReadonlyMap<string, PlatformKind>> {
    const rows = await this.#rows.get(appId);
    return new Map(rows.map(({ platform, kind }) => [platform, kind as PlatformKind]));
  }

  async list(appId: string): Promise<ShownCredentials[]> {
    const rows = await this.repository.list(appId);
    return rows.map((row) => ({ platform: row.platform, kind: row.kind as PlatformKind, ...this.#sealed.show(row) }));
  }

  async set({ appId, platform, kind, fields }: RpcData<typeof platformsRpc.set>): Promise<ShownCredentials> {
    const parts = parseCredentials(platform, kind, fields);
    await this.applications.assertKnown(appId);
    const { row, reply } = this.#sealed.seal({ appId, platform }, parts);
    await this.repository.put({ ...row, kind });
    this.#announce(appId);
    return { platform, kind, ...reply };
  }

  async remove(appId: string, platform: string): Promise<void> {
    const isRemoved = await this.repository.remove(appId, platform);
    if (!isRemoved)
      throw appError('NOT_FOUND', { message: `Application "${appId}" has no credentials for "${platform}".` });
    this.#announce(appId);
  }

  async assertSecretFits(): Promise<void> {
    this.#sealed.assertSecretFits(await this.repository.findAny());
  }

  #announce(appId: string): void {
    this.#rows.forget(appId);
    this.broadcasts.send(broadcastContracts.platformsChanged, { appId });
  }
}

export function credentialsContext(appId: string, platform: string): string {
  return `platform credentials of ${appId} for ${platform}`;
}

type Fields = Readonly<Record<string, string>>;

/** @throws AppError INCORRECT_TYPE, which names the field, never its value */
export function parseCredentials(platform: string, kind: PlatformKind, fields: Fields): SplitCredentials {
  if (isKind(platform) && platform !== kind)
    throw refused(`"${platform}" is a platform of its own: it cannot have credentials of the kind "${kind}".`);
  if (isUnionIdEntryName(platform) || platform === ANONYMOUS_PLATFORM)
    throw refused(`"${platform}" is not a third-party platform.`);
  const problem = credentialProblem(kind, PLATFORM_CREDENTIALS[kind], fields) ?? signingProblem(kind, fields);
  if (problem !== undefined) throw refused(problem);
  return splitCredentials(PLATFORM_CREDENTIALS[kind], fields);
}

/** @throws Error if they are invalid, such as after a downgrade */
export function joinCredentials(kind: string, { shown, secrets }: SplitCredentials): PlatformCredentials {
  const parsed = isKind(kind) ? PLATFORM_CREDENTIALS[kind].safeParse({ ...shown, ...secrets }) : undefined;
  if (parsed?.success !== true) throw new Error(`they are not credentials of the kind "${kind}"`);
  return parsed.data;
}

function isKind(text: string): text is PlatformKind {
  return PLATFORM_KINDS.some((kind) => kind === text);
}

function refused(message: string): Error {
  return appError('INCORRECT_TYPE', { message });
}
