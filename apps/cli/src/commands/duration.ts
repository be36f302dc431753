import { InvalidArgumentError } from 'commander';

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** Seconds of a time such as 90d; null for `until-revoked`. @throws InvalidArgumentError */
export function secondsOf(text: string): number | null {
  if (text === 'until-revoked') return null;
  const [, count, unit = ''] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It takes 30m, 12h, 90d or until-revoked.');
  return Number(count) * (SECONDS[unit] ?? 0);
}
