import { Injectable } from '@nestjs/common';
import { RecentReads } from '#bootstrap';
import type { RpcData, ShownTextMessageProvider, textMessageProvidersRpc } from '#contracts';
import { appError, messageOf } from '#errors';
import { Sealer } from '#security';
import { MailDatabase } from '../mail.database.js';
import { type TextMessageProviderRow, TextMessageProvidersRepository } from './text-message-providers.repository.js';
import { joinProvider, parseProvider, type ProviderSettings } from './text-message.rules.js';

/** Who carries the text messages of which application. Secrets are sealed at rest, and shown to nobody. */
@Injectable()
export class TextMessageProvidersService {
  /** Sealed as they are stored: nothing is kept open. */
  readonly #rows = new RecentReads<{ readonly row: TextMessageProviderRow | undefined }>(async (appId) => ({
    row: await this.repository.find(appId),
  }));

  constructor(
    private readonly repository: TextMessageProvidersRepository,
    private readonly database: MailDatabase,
    private readonly sealer: Sealer,
  ) {}

  /**
   * The provider of an application, at most a second old.
   * @returns undefined where none is set
   * @throws AppError SERVICE_UNAVAILABLE where that cannot be read, Error where it cannot be opened. Neither may be taken for
   * "none": codes would then stand in files that nobody sends.
   */
  async find(appId: string): Promise<ProviderSettings | undefined> {
    const { row } = await this.#rows.get(appId);
    return row === undefined ? undefined : this.settingsOf(row);
  }

  async get(appId: string): Promise<ShownTextMessageProvider | null> {
    const row = await this.repository.find(appId);
    return row === undefined ? null : this.shown(row);
  }

  /** @throws AppError INCORRECT_TYPE for fields that are not those of the kind */
  async set({ appId, kind, fields }: RpcData<typeof textMessageProvidersRpc.set>): Promise<ShownTextMessageProvider> {
    const { shown, secrets } = parseProvider(kind, fields);
    const row = {
      appId,
      kind,
      shown,
      sealedSecrets: this.sealer.seal(JSON.stringify(secrets), providerContext(appId)),
    };
    await this.database.transaction((tx) => this.repository.put(tx, row));
    this.#rows.forget(appId);
    return this.shown(row);
  }

  /** @throws AppError NOT_FOUND where none is set */
  async remove(appId: string): Promise<void> {
    const isRemoved = await this.database.transaction((tx) => this.repository.remove(tx, appId));
    this.#rows.forget(appId);
    if (!isRemoved)
      throw appError('NOT_FOUND', { message: `Application "${appId}" has no provider of text messages.` });
  }

  /** @throws Error where what is stored was sealed with another secret: then no text message could be sent */
  async assertSecretFits(): Promise<void> {
    const row = await this.repository.findAny();
    if (row !== undefined) this.secretsOf(row);
  }

  /** Not SERVICE_UNAVAILABLE: the messages of other applications can be sent. */
  private settingsOf(row: TextMessageProviderRow): ProviderSettings {
    try {
      return joinProvider(row.kind, { shown: row.shown, secrets: this.secretsOf(row) });
    } catch (error) {
      throw unusable(row, error);
    }
  }

  private shown(row: TextMessageProviderRow): ShownTextMessageProvider {
    try {
      const { kind } = this.settingsOf(row);
      return { kind, shown: { ...row.shown }, secrets: Object.keys(this.secretsOf(row)) };
    } catch (cause) {
      throw appError('SERVICE_UNAVAILABLE', { cause });
    }
  }

  private secretsOf({ appId, sealedSecrets }: TextMessageProviderRow): Record<string, string> {
    return JSON.parse(this.sealer.open(sealedSecrets, providerContext(appId))) as Record<string, string>;
  }
}

/** What the secrets of an application's provider are sealed for. */
export function providerContext(appId: string): string {
  return `text message provider of ${appId}`;
}

/** Tells operators which credentials cannot be used, and why. */
function unusable({ appId }: TextMessageProviderRow, cause: unknown): Error {
  return new Error(`the provider of text messages of application ${appId} cannot be used: ${messageOf(cause)}`, {
    cause,
  });
}
