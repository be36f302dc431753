import {
  credentialProblem,
  type SplitCredentials,
  splitCredentials,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  type TextMessageProviderCredentials,
  type TextMessageProviderKind,
} from '#contracts';
import { appError } from '#errors';

/** A provider and what it takes to use it. */
export type ProviderSettings = {
  readonly [Kind in TextMessageProviderKind]: {
    readonly kind: Kind;
    readonly credentials: TextMessageProviderCredentials<Kind>;
  };
}[TextMessageProviderKind];

/**
 * Reads the fields that an operator gives for a provider.
 * @throws AppError INCORRECT_TYPE: it names the field, never its value
 */
export function parseProvider(
  kind: TextMessageProviderKind,
  fields: Readonly<Record<string, string>>,
): SplitCredentials {
  const schema = TEXT_MESSAGE_PROVIDERS[kind];
  const problem = credentialProblem(kind, schema, fields);
  if (problem !== undefined) throw appError('INCORRECT_TYPE', { message: problem });
  return splitCredentials(schema, fields);
}

/** The stored fields as a provider. @throws Error where they are none, such as after a way back to an older version */
export function joinProvider(kind: string, { shown, secrets }: SplitCredentials): ProviderSettings {
  const known = TEXT_MESSAGE_PROVIDER_KINDS.find((one) => one === kind);
  const parsed = known === undefined ? undefined : TEXT_MESSAGE_PROVIDERS[known].safeParse({ ...shown, ...secrets });
  if (parsed?.success !== true) throw new Error(`they are none of a provider "${kind}"`);
  // The kind has chosen the schema.
  return { kind: known, credentials: parsed.data } as ProviderSettings;
}
