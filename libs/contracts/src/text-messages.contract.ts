import { z } from 'zod';
import { appId } from './application.schema.js';
import { credentialSecret, credentialText, givenCredentials } from './caller.schema.js';
import { rpc } from './message-kinds.js';

/** Text that stands in a message: no control characters, no halves of surrogate pairs. */
const printable = (maxLength: number) =>
  z
    .string()
    .regex(new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${maxLength}}$`, 'u'), `must be 1 to ${maxLength} printable characters`);

const MAX_VARIABLES = 20;

/** What a client may say of the message that brings its code. */
export const textMessageOptions = z.object({
  smsType: z.enum(['sms', 'voice']),
  /** How the application calls itself in the message. */
  name: printable(100).optional(),
  /** What the code is for. */
  op: printable(100).optional(),
  template: printable(64).optional(),
  sign: printable(64).optional(),
  /** For the template. */
  variables: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must have names of letters, digits and _'),
      printable(200),
    )
    .refine((variables) => Object.keys(variables).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES} variables`)
    .optional(),
});

export type TextMessageOptions = z.output<typeof textMessageOptions>;

/** The longest life of a code, in minutes. */
export const MAX_CODE_TTL_MINUTES = 30;

/** What a code is good for; it is good for nothing else. */
export const CODE_PURPOSES = ['generic', 'login', 'verify', 'reset', 'change'] as const;

export type CodePurpose = (typeof CODE_PURPOSES)[number];

/** What the code of a message is sealed for: it does not open beside another number. */
export function sealedCodeContext({
  appId,
  mobilePhoneNumber,
}: Readonly<Record<'appId' | 'mobilePhoneNumber', string>>): string {
  return `text message to ${mobilePhoneNumber} of ${appId}`;
}

const MAX_URL_LENGTH = 1_000;
const MIN_SECRET_LENGTH = 16;

const webhookUrl = z
  .string()
  .max(MAX_URL_LENGTH)
  .regex(/^https?:\/\/[^\s@#]+$/, 'must be a URL such as https://example.com/sms without a user and a fragment')
  .refine((text) => URL.canParse(text), 'must be a URL such as https://example.com/sms');

/**
 * What must be known to have an application's text messages sent, by provider. A field with `isSecret` in its metadata is
 * never shown again (docs/mail.md).
 */
export const TEXT_MESSAGE_PROVIDERS = {
  webhook: z.strictObject({
    url: webhookUrl.describe('Address of your own that gets each message by POST.'),
    secret: credentialSecret
      .min(MIN_SECRET_LENGTH, `must have at least ${MIN_SECRET_LENGTH} characters`)
      .describe('With it the requests are signed.')
      .meta({ isSecret: true }),
  }),
  twilio: z
    .strictObject({
      accountSid: z.string().regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits'),
      authToken: credentialSecret,
      from: credentialText(64).optional().describe('Number or name of the sender.'),
      messagingServiceSid: z
        .string()
        .regex(/^MG[0-9a-fA-F]{32}$/, 'must be MG and 32 hexadecimal digits')
        .optional()
        .describe('In place of the sender.'),
    })
    .refine(
      ({ from, messagingServiceSid }) => (from === undefined) !== (messagingServiceSid === undefined),
      'Either from or messagingServiceSid must be given.',
    ),
} as const;

export type TextMessageProviderKind = keyof typeof TEXT_MESSAGE_PROVIDERS;

export const TEXT_MESSAGE_PROVIDER_KINDS = Object.keys(TEXT_MESSAGE_PROVIDERS) as [
  TextMessageProviderKind,
  ...TextMessageProviderKind[],
];

export type TextMessageProviderCredentials<Kind extends TextMessageProviderKind = TextMessageProviderKind> = z.output<
  (typeof TEXT_MESSAGE_PROVIDERS)[Kind]
>;

const kind = z.enum(TEXT_MESSAGE_PROVIDER_KINDS);

/** A provider as an operator may see it. */
const shownProvider = z.object({
  kind,
  /** Fields that are no secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownTextMessageProvider = z.output<typeof shownProvider>;

/** What operators ask about who carries an application's text messages, by the same ways as `applicationsRpc`. */
export const textMessageProvidersRpc = {
  /** Null where none is set: messages become files. */
  get: rpc('mail.getTextMessageProvider', z.object({ appId }), z.object({ provider: shownProvider.nullable() })),
  /** Replaces what was set. `fields`: as `TEXT_MESSAGE_PROVIDERS` says for the kind. */
  set: rpc(
    'mail.setTextMessageProvider',
    z.object({ appId, kind, fields: givenCredentials }),
    z.object({ provider: shownProvider }),
  ),
  /** Fails with NOT_FOUND. */
  remove: rpc('mail.removeTextMessageProvider', z.object({ appId }), z.object({})),
};
