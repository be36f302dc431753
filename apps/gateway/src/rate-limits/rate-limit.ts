import type { RateLimit } from '#admission';

/** Kinds of requests that are limited together. `requests` is all of them; the others are named at routes. */
export type RateLimitGroup = 'requests' | 'logins' | 'signUps' | 'messages';

/** What one address may send to one application; `undefined` is no limit. */
export type RateLimits = Readonly<Record<RateLimitGroup, RateLimit | undefined>>;

/** DI token of `RateLimits`. */
export const RATE_LIMITS = Symbol('RateLimits');
