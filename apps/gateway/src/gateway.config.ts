import type { z } from 'zod';
import { ConfigError, environment } from '#config';

/** The variables of the gateway. */
export const gatewayEnvironment = environment.pick({
  GATEPOST_BASE_URL: true,
  GATEPOST_BODY_LIMIT_BYTES: true,
  GATEPOST_PORT: true,
});

export interface GatewayConfig {
  /** Public address of the API, without a slash at its end. Never taken from a request. */
  readonly baseUrl: string;
  readonly bodyLimitBytes: number;
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
  });
}
