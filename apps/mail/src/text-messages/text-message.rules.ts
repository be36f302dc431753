import {
  type CodePurpose,
  credentialProblem,
  type SplitCredentials,
  splitCredentials,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  type TextMessageOptions,
  type TextMessageProviderCredentials,
  type TextMessageProviderKind,
  type TextMessageRequest,
} from '#contracts';
import { appError } from '#errors';
import { plainName } from '../templates/template.rules.js';

/** The content of a queued text message, sealed at rest. */
export interface TextMessageContent extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  readonly text: string;
  readonly code: string;
}

export interface TextMessage extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  /** The same for every attempt. */
  readonly id: string;
  readonly appId: string;
  /** The phone number, in international format. */
  readonly to: string;
  readonly text: string;
  /** The code in the text, for providers that fill templates of their own. */
  readonly code: string;
}

/** Sends text messages. @template Credentials the settings of the application */
export interface TextMessageProvider<Credentials> {
  /**
   * Resolves once the provider has accepted the message.
   * @throws DeliveryRefused if the provider rejects it permanently; any other error means that it is retried later. Error
   * messages are stored, so they must not contain the number, the text, or a secret.
   */
  send(message: TextMessage, credentials: Credentials): Promise<void>;
}

/** The name of the code in the message, by which the reader knows its purpose. */
const CODE_NAMES: Readonly<Record<CodePurpose, string>> = {
  generic: 'verification code',
  login: 'login code',
  verify: 'code to verify this phone number',
  reset: 'code to reset your password',
  change: 'code to use this phone number',
};

/** The default text. Any client with the application key chooses `name` and `op`: neither may lead the reader to another page. */
export function textOf(
  { name, op, purpose, ttlMinutes }: Pick<TextMessageRequest, 'name' | 'op' | 'purpose' | 'ttlMinutes'>,
  code: string,
): string {
  const use = op === undefined ? '' : ` for ${plainName(op)}`;
  const minutes = ttlMinutes === 1 ? 'minute' : 'minutes';
  return `[${plainName(name)}] ${code} is your ${CODE_NAMES[purpose]}${use}. It is valid for ${ttlMinutes} ${minutes}.`;
}

export type ProviderSettings = {
  readonly [Kind in TextMessageProviderKind]: {
    readonly kind: Kind;
    readonly credentials: TextMessageProviderCredentials<Kind>;
  };
}[TextMessageProviderKind];

/**
 * Parses the fields that an operator sets for a provider.
 * @throws AppError INCORRECT_TYPE, which names the field, never its value
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

/** The stored fields as settings. @throws Error if they are invalid, such as after a downgrade */
export function joinProvider(kind: string, { shown, secrets }: SplitCredentials): ProviderSettings {
  const known = TEXT_MESSAGE_PROVIDER_KINDS.find((one) => one === kind);
  const parsed = known === undefined ? undefined : TEXT_MESSAGE_PROVIDERS[known].safeParse({ ...shown, ...secrets });
  if (parsed?.success !== true) throw new Error(`they are not settings of a provider "${kind}"`);
  // The kind has selected the schema.
  return { kind: known, credentials: parsed.data } as ProviderSettings;
}
