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

/** What a queued text message is made of: sealed while it waits. */
export interface TextMessageContent extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  readonly text: string;
  readonly code: string;
}

/** A text message, ready to be sent. */
export interface TextMessage extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  /** The same for every attempt to send it. */
  readonly id: string;
  readonly appId: string;
  /** The phone number, in international format. */
  readonly to: string;
  readonly text: string;
  /** The code that stands in the text, for providers that fill templates of their own. */
  readonly code: string;
}

/** Who carries text messages to phones. @template Credentials what it must know of the application */
export interface TextMessageProvider<Credentials> {
  /**
   * Resolves once the message is with the provider.
   * @throws DeliveryRefused where it will never take it; anything else means: try this one again later. No error's message holds
   * the number, the text, or a secret: it is kept.
   */
  send(message: TextMessage, credentials: Credentials): Promise<void>;
}

/** How a message calls the code, so that whoever gets it knows what it opens. */
const CODE_NAMES: Readonly<Record<CodePurpose, string>> = {
  generic: 'verification code',
  login: 'login code',
  verify: 'code to verify this phone number',
  reset: 'code to reset your password',
  change: 'code to use this phone number',
};

/** The default text. */
export function textOf(
  { name, op, purpose, ttlMinutes }: Pick<TextMessageRequest, 'name' | 'op' | 'purpose' | 'ttlMinutes'>,
  code: string,
): string {
  const use = op === undefined ? '' : ` for ${op}`;
  const minutes = ttlMinutes === 1 ? 'minute' : 'minutes';
  return `[${name}] ${code} is your ${CODE_NAMES[purpose]}${use}. It is valid for ${ttlMinutes} ${minutes}.`;
}

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
