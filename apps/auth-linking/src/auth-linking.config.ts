import type { z } from 'zod';
import { ConfigError, environment, type Secret } from '#bootstrap';
import { PLATFORM_KINDS, platformKind } from '#contracts';

export const authLinkingEnvironment = environment
  .pick({
    DATABASE_URL: true,
    GATEPOST_ACCEPTED_SECRETS: true,
    GATEPOST_AUTH_LINKING_DATABASE_URL: true,
    GATEPOST_DATABASE_POOL: true,
    GATEPOST_INTERNAL_NETWORKS: true,
    GATEPOST_PLATFORM_URLS: true,
    GATEPOST_SECRET: true,
  })
  .required({ GATEPOST_SECRET: true });

export interface AuthLinkingConfig {
  readonly databaseUrl: string;
  readonly databasePool: number;
  readonly secret: Secret;
  readonly acceptedSecrets: readonly Secret[];
  /** Addresses that replace the documented ones of platforms. */
  readonly platformUrls: ReadonlyMap<string, string>;
  readonly internalNetworks: readonly string[];
}

export const AUTH_LINKING_CONFIG = Symbol('AuthLinkingConfig');

/** @throws ConfigError if an address is for an unknown platform, probably a typing error */
export function authLinkingConfig(env: z.output<typeof authLinkingEnvironment>): AuthLinkingConfig {
  const names = [...env.GATEPOST_PLATFORM_URLS.keys()];
  if (!names.every((name) => platformKind.safeParse(name).success)) {
    throw new ConfigError([`GATEPOST_PLATFORM_URLS: must name platforms (${PLATFORM_KINDS.join(', ')})`]);
  }
  return Object.freeze({
    databaseUrl: env.GATEPOST_AUTH_LINKING_DATABASE_URL ?? env.DATABASE_URL,
    databasePool: env.GATEPOST_DATABASE_POOL,
    secret: env.GATEPOST_SECRET,
    acceptedSecrets: env.GATEPOST_ACCEPTED_SECRETS,
    platformUrls: env.GATEPOST_PLATFORM_URLS,
    internalNetworks: env.GATEPOST_INTERNAL_NETWORKS,
  });
}
