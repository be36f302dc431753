import { availableParallelism } from 'node:os';
import type { z } from 'zod';
import { parseRateLimit, type RateLimit } from '#admission';
import { environment, type Secret } from '#bootstrap';
import type { MailKind } from '#contracts';

const SECOND_MS = 1_000;

export const accountsEnvironment = environment
  .pick({
    DATABASE_URL: true,
    GATEPOST_ACCEPTED_SECRETS: true,
    GATEPOST_ACCOUNTS_DATABASE_URL: true,
    GATEPOST_APP_ID: true,
    GATEPOST_APP_KEY: true,
    GATEPOST_BASE_URL: true,
    GATEPOST_BODY_LIMIT_BYTES: true,
    GATEPOST_DATABASE_POOL: true,
    GATEPOST_MASTER_KEY: true,
    GATEPOST_PASSWORD_COST: true,
    GATEPOST_PASSWORD_QUEUE_LIMIT: true,
    GATEPOST_RATE_LIMIT_TEXT_MESSAGES: true,
    GATEPOST_RESET_LINK_SECONDS: true,
    GATEPOST_SECRET: true,
    GATEPOST_VERIFICATION_LINK_SECONDS: true,
  })
  .required({ GATEPOST_SECRET: true });

/** The application to create when there is none. Missing values are generated. */
export interface InitialApplication {
  readonly id: string | undefined;
  readonly appKey: Secret | undefined;
  readonly masterKey: Secret | undefined;
}

export interface AccountsConfig {
  readonly databaseUrl: string;
  readonly databasePool: number;
  readonly baseUrl?: string | undefined;
  readonly secret: Secret;
  readonly acceptedSecrets: readonly Secret[];
  readonly passwordCost: number;
  readonly passwordQueueLimit: number;
  readonly passwordConcurrency: number;
  readonly objectLimitBytes: number;
  /** Per application; undefined: no limit. */
  readonly textMessageLimit: RateLimit | undefined;
  readonly linkLifetimesMs: Readonly<Record<MailKind, number>>;
  readonly initialApplication: InitialApplication | undefined;
}

export const ACCOUNTS_CONFIG = Symbol('AccountsConfig');

export function accountsConfig(env: z.output<typeof accountsEnvironment>): AccountsConfig {
  return Object.freeze({
    databaseUrl: env.GATEPOST_ACCOUNTS_DATABASE_URL ?? env.DATABASE_URL,
    databasePool: env.GATEPOST_DATABASE_POOL,
    baseUrl: env.GATEPOST_BASE_URL,
    secret: env.GATEPOST_SECRET,
    acceptedSecrets: env.GATEPOST_ACCEPTED_SECRETS,
    passwordCost: env.GATEPOST_PASSWORD_COST,
    passwordQueueLimit: env.GATEPOST_PASSWORD_QUEUE_LIMIT,
    passwordConcurrency: availableParallelism(),
    objectLimitBytes: env.GATEPOST_BODY_LIMIT_BYTES,
    textMessageLimit: parseRateLimit(env.GATEPOST_RATE_LIMIT_TEXT_MESSAGES),
    linkLifetimesMs: {
      verifyEmail: env.GATEPOST_VERIFICATION_LINK_SECONDS * SECOND_MS,
      resetPassword: env.GATEPOST_RESET_LINK_SECONDS * SECOND_MS,
    },
    initialApplication:
      env.GATEPOST_APP_ID === undefined
        ? undefined
        : { id: env.GATEPOST_APP_ID, appKey: env.GATEPOST_APP_KEY, masterKey: env.GATEPOST_MASTER_KEY },
  });
}
