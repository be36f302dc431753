/** A random secret of 32 hexadecimal digits hardly ever has fewer. */
const FEWEST_CHARACTERS = 10;

/** Why a secret could be guessed; undefined where nothing speaks for that. */
export function weaknessOf(given: { reveal(): string }): string | undefined {
  const secret = given.reveal();
  if (new Set(secret).size < FEWEST_CHARACTERS) return 'it consists of few different characters';
  if (/^(.{1,16})\1+$/.test(secret)) return 'it repeats itself';
  return /secret|password|change.?me|example|gatepost/i.test(secret) ? 'it consists of words' : undefined;
}
