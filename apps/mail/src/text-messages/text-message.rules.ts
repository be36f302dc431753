import type { CodePurpose, TextMessageRequest } from '#contracts';

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
