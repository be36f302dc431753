import { Injectable } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import type { RpcData, ShownTextMessageProvider, textMessageProvidersRpc } from '#contracts';
import { appError, messageOf } from '#errors';
import { Sealer } from '#security';
import { type TextMessageProviderRow, TextMessageProvidersRepository } from './text-message-providers.repository.js';
import { joinProvider, parseProvider, type ProviderSettings } from './text-message.rules.js';

/** The text message providers of applications. Secrets are sealed at rest and never shown. */
@Injectable()
export class TextMessageProvidersService {
  /** Cached sealed, as stored: no secret stays in memory in plain text. */
  readonly #rows = new TtlCache<{ readonly row: TextMessageProviderRow | undefined }>(async (appId) => ({
    row: await this.repository.find(appId),
  }));

  constructor(
    private readonly repository: TextMessageProvidersRepository,
    private readonly sealer: Sealer,
  ) {}

  /**
   * The provider of an application, at most one second old.
   * @returns undefined if none is set
   * @throws AppError SERVICE_UNAVAILABLE if it cannot be read, Error if it cannot be opened. Neither must be treated as
   * "none": codes would be written to files instead of being sent.
   */
  async find(appId: string): Promise<ProviderSettings | undefined> {
    const { row } = await this.#rows.get(appId);
    return row === undefined ? undefined : this.settingsOf(row);
  }

  async get(appId: string): Promise<ShownTextMessageProvider | null> {
    const row = await this.repository.find(appId);
    return row === undefined ? null : this.shown(row);
  }

  /** @throws AppError INCORRECT_TYPE if the fields do not match the kind */
  async set({ appId, kind, fields }: RpcData<typeof textMessageProvidersRpc.set>): Promise<ShownTextMessageProvider> {
    const { shown, secrets } = parseProvider(kind, fields);
    const row = {
      appId,
      kind,
      shown,
      sealedSecrets: this.sealer.seal(JSON.stringify(secrets), providerContext(appId)),
    };
    await this.repository.put(row);
    this.#rows.forget(appId);
    return this.shown(row);
  }

  /** @throws AppError NOT_FOUND if none is set */
  async remove(appId: string): Promise<void> {
    const isRemoved = await this.repository.remove(appId);
    this.#rows.forget(appId);
    if (!isRemoved) throw appError('NOT_FOUND', { message: `Application "${appId}" has no text message provider.` });
  }

  /** @throws Error if a stored row was sealed with another secret: no text message could be sent */
  async assertSecretFits(): Promise<void> {
    const row = await this.repository.findAny();
    if (row !== undefined) this.secretsOf(row);
  }

  /** Does not throw SERVICE_UNAVAILABLE, because the messages of other applications can be sent. */
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

/** The sealing context of a provider's secrets. */
export function providerContext(appId: string): string {
  return `text message provider of ${appId}`;
}

function unusable({ appId }: TextMessageProviderRow, cause: unknown): Error {
  return new Error(`the text message provider of application ${appId} cannot be used: ${messageOf(cause)}`, {
    cause,
  });
}
