import type { z } from 'zod';
import { parseRateLimit, type RateLimit } from '#admission';
import { ConfigError, environment } from '#bootstrap';
import type { RateLimits } from './rate-limits/request-limits.js';

export interface PushUrls {
  readonly server: string;
  readonly secondary: string;
}

export const gatewayEnvironment = environment.pick({
  GATEPOST_BASE_URL: true,
  GATEPOST_BODY_LIMIT_BYTES: true,
  GATEPOST_FORWARD_LIMIT_BYTES: true,
  GATEPOST_INTERNAL_NETWORKS: true,
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

interface ForwardingConfig {
  readonly internalNetworks: readonly string[];
  readonly maxBodyBytes: number;
  readonly answerTimeoutMs: number;
  /** Maximum time between two pieces of an answer: shorter than the time after which an idle client is disconnected. */
  readonly idleTimeoutMs: number;
  readonly totalTimeoutMs: number;
}

export interface GatewayConfig {
  /** Public address of the API, without a trailing slash. Never taken from a request. */
  readonly baseUrl: string;
  readonly bodyLimitBytes: number;
  readonly forwarding: ForwardingConfig;
  readonly batchTimeoutMs: number;
  /** The addresses for devices; undefined: those of the running connectors. */
  readonly pushUrls: PushUrls | undefined;
  readonly trustedProxies: readonly string[];
  readonly rateLimits: RateLimits;
  readonly failedCredentials: RateLimit | undefined;
}

type Environment = z.output<typeof gatewayEnvironment>;

const BATCH_TIMEOUT_MS = 60_000;
const FORWARD_TIMEOUTS = { answerTimeoutMs: 60_000, idleTimeoutMs: 25_000, totalTimeoutMs: 600_000 };
const PUSH_PATH = '/push';

export const GATEWAY_CONFIG = Symbol('GatewayConfig');

/** @throws ConfigError where the public address cannot be determined */
export function gatewayConfig(env: Environment): GatewayConfig {
  if (env.GATEPOST_PORT === 0 && env.GATEPOST_BASE_URL === undefined)
    throw new ConfigError(['GATEPOST_BASE_URL: must be set where GATEPOST_PORT is 0']);
  return Object.freeze({
    baseUrl: env.GATEPOST_BASE_URL ?? `http://localhost:${env.GATEPOST_PORT}`,
    bodyLimitBytes: env.GATEPOST_BODY_LIMIT_BYTES,
    forwarding: {
      ...FORWARD_TIMEOUTS,
      internalNetworks: env.GATEPOST_INTERNAL_NETWORKS,
      maxBodyBytes: env.GATEPOST_FORWARD_LIMIT_BYTES,
    },
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

/** The configuration of a process that also serves devices. By default, they connect to the address of the API. */
export function servingDevices(config: GatewayConfig): GatewayConfig {
  const server = pushUrlBeside(config.baseUrl);
  return { ...config, pushUrls: config.pushUrls ?? { server, secondary: server } };
}

/** The address of a connector on the API's host. It uses TLS if the API does. @param port the API's own port unless given */
export function pushUrlBeside(baseUrl: string, port?: number): string {
  const url = new URL(PUSH_PATH, baseUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (port !== undefined) url.port = String(port);
  return url.href;
}

function pushUrls({
  GATEPOST_PUSH_URL: server,
  GATEPOST_PUSH_URL_SECONDARY: secondary,
}: Environment): PushUrls | undefined {
  if (server !== undefined) return { server, secondary: secondary ?? server };
  if (secondary === undefined) return undefined;
  throw new ConfigError(['GATEPOST_PUSH_URL: must be set where GATEPOST_PUSH_URL_SECONDARY is']);
}
