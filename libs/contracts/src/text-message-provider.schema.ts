import { z } from 'zod';
import { credentialSecret, credentialText } from './credential.schema.js';

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
