import { z } from 'zod';
import { appId } from './application.schema.js';
import { credentialSecret, credentialText, givenCredentials, rpc } from './messages.schema.js';

export const MAX_MESSAGE_LABEL_LENGTH = 100;
export const MAX_TEMPLATE_NAME_LENGTH = 64;
export const MAX_TEMPLATE_VARIABLES = 20;

export const textMessageOptions = z.object({
  smsType: z.enum(['sms', 'voice']),
  name: credentialText(MAX_MESSAGE_LABEL_LENGTH).optional(),
  op: credentialText(MAX_MESSAGE_LABEL_LENGTH).optional(),
  template: credentialText(MAX_TEMPLATE_NAME_LENGTH).optional(),
  sign: credentialText(MAX_TEMPLATE_NAME_LENGTH).optional(),
  variables: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must have names of letters, digits and _'),
      credentialText(200),
    )
    .refine(
      (variables) => Object.keys(variables).length <= MAX_TEMPLATE_VARIABLES,
      `at most ${MAX_TEMPLATE_VARIABLES} variables`,
    )
    .optional(),
});

export type TextMessageOptions = z.output<typeof textMessageOptions>;

export const MAX_CODE_TTL_MINUTES = 30;
export const DEFAULT_CODE_TTL_MINUTES = 10;
export const DEFAULT_CHANGE_CODE_TTL_MINUTES = 6;

export const CODE_PURPOSES = ['generic', 'login', 'verify', 'reset', 'change'] as const;

export type CodePurpose = (typeof CODE_PURPOSES)[number];

/** The context under which the code of a message is sealed: the code does not open for another number. */
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

/** A field with `isSecret` in its metadata is never shown again (docs/mail.md). */
export const TEXT_MESSAGE_PROVIDERS = {
  webhook: z.strictObject({
    url: webhookUrl.describe('Address of the application that receives each message by POST.'),
    secret: credentialSecret
      .min(MIN_SECRET_LENGTH, `must have at least ${MIN_SECRET_LENGTH} characters`)
      .describe('Secret that signs the requests.')
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
        .describe('Replaces the sender.'),
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

const shownProvider = z.object({
  kind,
  shown: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
});

export type ShownTextMessageProvider = z.output<typeof shownProvider>;

export const textMessageProvidersRpc = {
  /** Null where no provider is set: messages are written to files. */
  get: rpc('mail.getTextMessageProvider', z.object({ appId }), z.object({ provider: shownProvider.nullable() })),
  /** Replaces the provider. `fields`: as `TEXT_MESSAGE_PROVIDERS` defines for the kind. Fails with NOT_FOUND for an unknown application. */
  set: rpc(
    'mail.setTextMessageProvider',
    z.object({ appId, kind, fields: givenCredentials }),
    z.object({ provider: shownProvider }),
  ),
  remove: rpc('mail.removeTextMessageProvider', z.object({ appId }), z.object({})),
};
