import { Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { TtlCache } from '#bootstrap';
import {
  credentialProblem,
  type RpcData,
  type ShownTextMessageProvider,
  type SplitCredentials,
  splitCredentials,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  type TextMessageProviderCredentials,
  type TextMessageProviderKind,
  type textMessageProvidersRpc,
} from '#contracts';
import { appError } from '#errors';
import { SealedCredentials, Sealer } from '#security';
import { type TextMessageProviderRow, TextMessageProvidersRepository } from './text-message-providers.repository.js';

@Injectable()
export class TextMessageProvidersService {
  /** Cached sealed, as stored: no secret stays in memory in plain text. */
  readonly #rows = new TtlCache<{ readonly row: TextMessageProviderRow | undefined }>(async (appId) => ({
    row: await this.repository.find(appId),
  }));
  readonly #sealed: SealedCredentials<Pick<TextMessageProviderRow, 'appId'>>;

  constructor(
    private readonly repository: TextMessageProvidersRepository,
    sealer: Sealer,
    private readonly applications: ApplicationDirectory,
  ) {
    this.#sealed = new SealedCredentials(sealer, {
      context: ({ appId }) => providerContext(appId),
      title: ({ appId }) => `text message provider of application ${appId}`,
    });
  }

  /** At most a second old. @throws AppError SERVICE_UNAVAILABLE, or Error if it cannot be opened: as "none" codes would go to files */
  async find(appId: string): Promise<ProviderSettings | undefined> {
    const { row } = await this.#rows.get(appId);
    return row === undefined ? undefined : this.#sealed.open(row, (parts) => joinProvider(row.kind, parts));
  }

  async get(appId: string): Promise<ShownTextMessageProvider | null> {
    const row = await this.repository.find(appId);
    if (row === undefined) return null;
    const { kind } = this.#sealed.openOrFail(row, (parts) => joinProvider(row.kind, parts));
    return { kind, ...this.#sealed.show(row) };
  }

  async set({ appId, kind, fields }: RpcData<typeof textMessageProvidersRpc.set>): Promise<ShownTextMessageProvider> {
    const parts = parseProvider(kind, fields);
    await this.applications.assertKnown(appId);
    const { row, reply } = this.#sealed.seal({ appId }, parts);
    await this.repository.put({ ...row, kind });
    this.#rows.forget(appId);
    return { kind, ...reply };
  }

  async remove(appId: string): Promise<void> {
    const isRemoved = await this.repository.remove(appId);
    this.#rows.forget(appId);
    if (!isRemoved) throw appError('NOT_FOUND', { message: `Application "${appId}" has no text message provider.` });
  }

  async assertSecretFits(): Promise<void> {
    this.#sealed.assertSecretFits(await this.repository.findAny());
  }
}

export function providerContext(appId: string): string {
  return `text message provider of ${appId}`;
}

export type ProviderSettings = {
  readonly [Kind in TextMessageProviderKind]: {
    readonly kind: Kind;
    readonly credentials: TextMessageProviderCredentials<Kind>;
  };
}[TextMessageProviderKind];

/** @throws AppError INCORRECT_TYPE, which names the field, never its value */
export function parseProvider(
  kind: TextMessageProviderKind,
  fields: Readonly<Record<string, string>>,
): SplitCredentials {
  const schema = TEXT_MESSAGE_PROVIDERS[kind];
  const problem = credentialProblem(kind, schema, fields);
  if (problem !== undefined) throw appError('INCORRECT_TYPE', { message: problem });
  return splitCredentials(schema, fields);
}

/** @throws Error if they are invalid, such as after a downgrade */
export function joinProvider(kind: string, { shown, secrets }: SplitCredentials): ProviderSettings {
  const known = TEXT_MESSAGE_PROVIDER_KINDS.find((one) => one === kind);
  const parsed = known === undefined ? undefined : TEXT_MESSAGE_PROVIDERS[known].safeParse({ ...shown, ...secrets });
  if (parsed?.success !== true) throw new Error(`they are not settings of a provider "${kind}"`);
  return { kind: known, credentials: parsed.data } as ProviderSettings;
}
