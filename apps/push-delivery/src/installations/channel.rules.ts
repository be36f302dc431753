import type { JsonValue } from '#contracts';
import { appError } from '#errors';

/** Letters, digits, `_ - =` and Chinese characters (specification, Installation); the empty name is everybody's channel. */
const CHANNEL = /^[A-Za-z0-9_=\-\p{Script=Han}]*$/u;

/** The names of channels in a list. @throws AppError INVALID_CHANNEL where one of them is none */
export function parseChannels(names: readonly JsonValue[]): string[] {
  return names.map((name) => {
    if (typeof name !== 'string' || !CHANNEL.test(name)) throw appError('INVALID_CHANNEL');
    return name;
  });
}
