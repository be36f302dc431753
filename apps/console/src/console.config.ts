import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import {
  ConfigError,
  environment,
  type GroupRole,
  listenProblem,
  LOOPBACK_HOSTS,
  type Secret,
  StartError,
} from '#bootstrap';

export const consoleEnvironment = environment
  .pick({
    DATABASE_URL: true,
    GATEPOST_ACCEPTED_SECRETS: true,
    GATEPOST_BASE_URL: true,
    GATEPOST_BODY_LIMIT_BYTES: true,
    GATEPOST_CONSOLE_AUDIT_DAYS: true,
    GATEPOST_CONSOLE_DATABASE_URL: true,
    GATEPOST_CONSOLE_HOST: true,
    GATEPOST_CONSOLE_NETWORKS: true,
    GATEPOST_CONSOLE_OIDC_CLIENT_ID: true,
    GATEPOST_CONSOLE_OIDC_CLIENT_SECRET: true,
    GATEPOST_CONSOLE_OIDC_ISSUER: true,
    GATEPOST_CONSOLE_OIDC_ROLES: true,
    GATEPOST_CONSOLE_PASSWORDS: true,
    GATEPOST_CONSOLE_PORT: true,
    GATEPOST_CONSOLE_SECOND_FACTOR: true,
    GATEPOST_CONSOLE_SESSION_IDLE_SECONDS: true,
    GATEPOST_CONSOLE_SESSION_SECONDS: true,
    GATEPOST_CONSOLE_URL: true,
    GATEPOST_DATABASE_POOL: true,
    GATEPOST_PASSWORD_COST: true,
    GATEPOST_SECRET: true,
    GATEPOST_TRUSTED_PROXIES: true,
    NODE_ENV: true,
  })
  .required({ GATEPOST_SECRET: true });

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** By groups of the issuer; empty if only owners give roles. */
  readonly roles: readonly GroupRole[];
}

export interface ConsoleConfig {
  readonly databaseUrl: string;
  readonly databasePool: number;
  readonly secret: Secret;
  readonly acceptedSecrets: readonly Secret[];
  /** Public URL of the page; undefined: http://localhost and the listening port. */
  readonly url: string | undefined;
  /** Base URL of the REST API, which the page shows. */
  readonly apiUrl: string;
  readonly bodyLimitBytes: number;
  readonly isDevelopment: boolean;
  readonly trustedProxies: readonly string[];
  /** Undefined: clients of all networks. */
  readonly clientNetworks: readonly string[] | undefined;
  readonly sessionIdleSeconds: number;
  readonly sessionSeconds: number;
  readonly auditDays: number;
  /** For owners and developers. */
  readonly secondFactor: 'optional' | 'required';
  readonly oidc: OidcConfig | null;
  readonly passwords: boolean;
  readonly passwordCost: number;
  readonly pageFolder: string;
}

export const CONSOLE_CONFIG = Symbol('ConsoleConfig');

/** Beside the built service; tests run the sources. */
const PAGE_FOLDER = join(
  import.meta.dirname,
  import.meta.filename.endsWith('.ts') ? '../../../dist/apps/console/web' : '../web',
);
const DEVELOPMENT_API_URL = 'http://localhost:8080';

type Environment = z.output<typeof consoleEnvironment>;

/** Names the settings of the address if the console cannot listen. */
export function consoleStartError(cause: unknown): unknown {
  const advice = 'Choose another port with GATEPOST_CONSOLE_PORT; off leaves the console out of the standalone server.';
  const problem = listenProblem(cause, 'The operator console', {
    inUse: `of the operator console is already in use. ${advice}`,
    other: 'Change GATEPOST_CONSOLE_PORT or GATEPOST_CONSOLE_HOST.',
  });
  return problem === undefined ? cause : new StartError(problem, { cause });
}

/** @throws ConfigError for a URL with neither https nor a loopback host (passwords would travel unencrypted), or an incomplete OpenID Connect issuer */
export function consoleConfig(env: Environment): ConsoleConfig {
  const url = env.GATEPOST_CONSOLE_URL;
  if (url !== undefined && !isSecure(new URL(url)))
    throw new ConfigError(['GATEPOST_CONSOLE_URL: must begin with https, or with http://localhost']);
  return Object.freeze({
    databaseUrl: env.GATEPOST_CONSOLE_DATABASE_URL ?? env.DATABASE_URL,
    databasePool: env.GATEPOST_DATABASE_POOL,
    secret: env.GATEPOST_SECRET,
    acceptedSecrets: env.GATEPOST_ACCEPTED_SECRETS,
    url: url === undefined ? undefined : new URL(url).origin,
    apiUrl: env.GATEPOST_BASE_URL ?? DEVELOPMENT_API_URL,
    // The undo of a change holds the former and the new fields of a user.
    bodyLimitBytes: 1_048_576 + 2 * env.GATEPOST_BODY_LIMIT_BYTES,
    isDevelopment: env.NODE_ENV !== 'production',
    trustedProxies: env.GATEPOST_TRUSTED_PROXIES,
    clientNetworks: env.GATEPOST_CONSOLE_NETWORKS,
    sessionIdleSeconds: env.GATEPOST_CONSOLE_SESSION_IDLE_SECONDS,
    sessionSeconds: env.GATEPOST_CONSOLE_SESSION_SECONDS,
    auditDays: env.GATEPOST_CONSOLE_AUDIT_DAYS,
    secondFactor: env.GATEPOST_CONSOLE_SECOND_FACTOR ?? (env.NODE_ENV === 'production' ? 'required' : 'optional'),
    oidc: oidcOf(env),
    passwords: env.GATEPOST_CONSOLE_PASSWORDS === 'on',
    passwordCost: env.GATEPOST_PASSWORD_COST,
    pageFolder: PAGE_FOLDER,
  });
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || LOOPBACK_HOSTS.has(hostname);
}

/** @throws ConfigError for incomplete variables, and if operators could not sign in at all */
function oidcOf(env: Environment): OidcConfig | null {
  const issuer = env.GATEPOST_CONSOLE_OIDC_ISSUER;
  const clientId = env.GATEPOST_CONSOLE_OIDC_CLIENT_ID;
  const clientSecret = env.GATEPOST_CONSOLE_OIDC_CLIENT_SECRET;
  const roles = env.GATEPOST_CONSOLE_OIDC_ROLES;
  if (issuer === undefined) {
    const lonely = [
      ...(clientId === undefined ? [] : ['GATEPOST_CONSOLE_OIDC_CLIENT_ID']),
      ...(clientSecret === undefined ? [] : ['GATEPOST_CONSOLE_OIDC_CLIENT_SECRET']),
      ...(roles.length === 0 ? [] : ['GATEPOST_CONSOLE_OIDC_ROLES']),
      ...(env.GATEPOST_CONSOLE_PASSWORDS === 'on' ? [] : ['GATEPOST_CONSOLE_PASSWORDS=off']),
    ];
    if (lonely.length > 0)
      throw new ConfigError(lonely.map((name) => `${name}: needs GATEPOST_CONSOLE_OIDC_ISSUER as well`));
    return null;
  }
  if (clientId === undefined || clientSecret === undefined) {
    const missing = clientId === undefined ? 'GATEPOST_CONSOLE_OIDC_CLIENT_ID' : 'GATEPOST_CONSOLE_OIDC_CLIENT_SECRET';
    throw new ConfigError([`${missing}: must be set beside GATEPOST_CONSOLE_OIDC_ISSUER`]);
  }
  return { issuer, clientId, clientSecret, roles };
}

/** The public origin of the console; known once the server listens. */
@Injectable()
export class PublicUrl {
  #port = 0;

  constructor(@Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig) {}

  listensOn(port: number): void {
    this.#port = port;
  }

  get origin(): string {
    return this.config.url ?? `http://localhost:${this.#port}`;
  }

  get origins(): readonly string[] {
    const local = ['localhost', '127.0.0.1'].map((host) => `http://${host}:${this.#port}`);
    return this.config.isDevelopment ? [this.origin, ...local] : [this.origin];
  }

  get isEncrypted(): boolean {
    return this.origin.startsWith('https:');
  }
}

/** Null in one process, which has no broker. */
export interface Broker {
  readonly url: string;
  readonly namespace: string;
}

export const BROKER = Symbol('Broker');
