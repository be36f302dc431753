import type { z } from 'zod';
import { ConfigError, environment } from '#config';
import { parseRateLimit, type RateLimits } from './rate-limits/rate-limit.js';

/** The variables of the gateway. */
export const gatewayEnvironment = environment.pick({
  GATEPOST_BASE_URL: true,
  GATEPOST_BODY_LIMIT_BYTES: true,
  GATEPOST_PORT: true,
  GATEPOST_RATE_LIMIT_LOGINS: true,
  GATEPOST_RATE_LIMIT_MESSAGES: true,
  GATEPOST_RATE_LIMIT_REQUESTS: true,
  GATEPOST_RATE_LIMIT_SIGN_UPS: true,
  GATEPOST_TRUSTED_PROXIES: true,
});

export interface GatewayConfig {
  /** Public address of the API, without a slash at its end. Never taken from a request. */
  readonly baseUrl: string;
  readonly bodyLimitBytes: number;
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly rateLimits: RateLimits;
}

/** DI token of `GatewayConfig`. */
export const GATEWAY_CONFIG = Symbol('GatewayConfig');

/** @throws ConfigError where clients could not be told the address */
export function gatewayConfig(env: z.output<typeof gatewayEnvironment>): GatewayConfig {
  if (env.GATEPOST_PORT === 0 && env.GATEPOST_BASE_URL === undefined)
    throw new ConfigError(['GATEPOST_BASE_URL: must be set where GATEPOST_PORT is 0']);
  return Object.freeze({
    baseUrl: env.GATEPOST_BASE_URL ?? `http://localhost:${env.GATEPOST_PORT}`,
    bodyLimitBytes: env.GATEPOST_BODY_LIMIT_BYTES,
    trustedProxies: env.GATEPOST_TRUSTED_PROXIES,
    rateLimits: {
      requests: parseRateLimit(env.GATEPOST_RATE_LIMIT_REQUESTS),
      logins: parseRateLimit(env.GATEPOST_RATE_LIMIT_LOGINS),
      signUps: parseRateLimit(env.GATEPOST_RATE_LIMIT_SIGN_UPS),
      messages: parseRateLimit(env.GATEPOST_RATE_LIMIT_MESSAGES),
    },
  });
}
