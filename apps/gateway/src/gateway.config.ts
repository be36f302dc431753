import type { z } from 'zod';
import { parseRateLimit, type RateLimit } from '#admission';
import { ConfigError, environment } from '#bootstrap';
import type { RateLimits } from './rate-limits/request-limits.js';

/** The WebSocket addresses that devices are told. */
export interface PushUrls {
  readonly server: string;
  readonly secondary: string;
}

/** Where connectors answer devices. */
const PATH = '/push';

/** The address of a connector on the API's host; on the API's own port unless given. As safe as the API is. */
export function pushUrlBeside(baseUrl: string, port?: number): string {
  const url = new URL(PATH, baseUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (port !== undefined) url.port = String(port);
  return url.href;
}

/** The variables of the gateway. */
export const gatewayEnvironment = environment.pick({
  GATEPOST_BASE_URL: true,
  GATEPOST_BODY_LIMIT_BYTES: true,
  GATEPOST_PORT: true,
  GATEPOST_PUSH_URL: true,
  GATEPOST_PUSH_URL_SECONDARY: true,
  GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: true,
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
  /** How long a batch may take as a whole. */
  readonly batchTimeoutMs: number;
  /** Where devices connect; undefined: to the connectors that run. */
  readonly pushUrls: PushUrls | undefined;
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly rateLimits: RateLimits;
  /** Requests with a wrong application id or key that one client network may send. */
  readonly failedCredentials: RateLimit | undefined;
}

type Environment = z.output<typeof gatewayEnvironment>;

const BATCH_TIMEOUT_MS = 60_000;

/** DI token of `GatewayConfig`. */
export const GATEWAY_CONFIG = Symbol('GatewayConfig');

/** @throws ConfigError where clients could not be told the address */
export function gatewayConfig(env: Environment): GatewayConfig {
  if (env.GATEPOST_PORT === 0 && env.GATEPOST_BASE_URL === undefined)
    throw new ConfigError(['GATEPOST_BASE_URL: must be set where GATEPOST_PORT is 0']);
  return Object.freeze({
    baseUrl: env.GATEPOST_BASE_URL ?? `http://localhost:${env.GATEPOST_PORT}`,
    bodyLimitBytes: env.GATEPOST_BODY_LIMIT_BYTES,
    batchTimeoutMs: BATCH_TIMEOUT_MS,
    pushUrls: pushUrls(env),
    trustedProxies: env.GATEPOST_TRUSTED_PROXIES,
    rateLimits: {
      requests: parseRateLimit(env.GATEPOST_RATE_LIMIT_REQUESTS),
      logins: parseRateLimit(env.GATEPOST_RATE_LIMIT_LOGINS),
      signUps: parseRateLimit(env.GATEPOST_RATE_LIMIT_SIGN_UPS),
      messages: parseRateLimit(env.GATEPOST_RATE_LIMIT_MESSAGES),
    },
    failedCredentials: parseRateLimit(env.GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS),
  });
}

/** The configuration of a process that devices connect to, too: unless told otherwise, they do so where the API is. */
export function servingDevices(config: GatewayConfig): GatewayConfig {
  const server = pushUrlBeside(config.baseUrl);
  return { ...config, pushUrls: config.pushUrls ?? { server, secondary: server } };
}

/** @throws ConfigError where only the second address is set */
function pushUrls({
  GATEPOST_PUSH_URL: server,
  GATEPOST_PUSH_URL_SECONDARY: secondary,
}: Environment): PushUrls | undefined {
  if (server !== undefined) return { server, secondary: secondary ?? server };
  if (secondary === undefined) return undefined;
  throw new ConfigError(['GATEPOST_PUSH_URL: must be set where GATEPOST_PUSH_URL_SECONDARY is']);
}
