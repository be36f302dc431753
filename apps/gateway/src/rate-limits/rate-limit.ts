/** Kinds of requests that are limited together. `requests` is all of them; the others are named at routes. */
export type RateLimitGroup = 'requests' | 'logins' | 'signUps' | 'messages';

/** So many requests within a window that begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly windowSeconds: number;
}

/** What one address may send to one application; `undefined` is no limit. */
export type RateLimits = Readonly<Record<RateLimitGroup, RateLimit | undefined>>;

/** DI token of `RateLimits`. */
export const RATE_LIMITS = Symbol('RateLimits');

/** Reads `off` or `<count>/<seconds>`, as the environment's schema lets it through. */
export function parseRateLimit(text: string): RateLimit | undefined {
  if (text === 'off') return undefined;
  const [count = 0, windowSeconds = 0] = text.split('/').map(Number);
  return { count, windowSeconds };
}
