import { z } from 'zod';

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
