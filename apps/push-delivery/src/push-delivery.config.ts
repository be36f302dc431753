import { z } from 'zod';
import { ConfigError, environment, type Secret } from '#bootstrap';
import type { Vendor } from '#contracts';

export const pushDeliveryEnvironment = environment.pick({
  DATABASE_URL: true,
  GATEPOST_ACCEPTED_SECRETS: true,
  GATEPOST_BODY_LIMIT_BYTES: true,
  GATEPOST_DATABASE_POOL: true,
  GATEPOST_INTERNAL_NETWORKS: true,
  GATEPOST_PUSH_CONNECTIONS: true,
  GATEPOST_PUSH_DATABASE_URL: true,
  GATEPOST_PUSH_PING_SECONDS: true,
  GATEPOST_PUSH_QUEUE_LIMIT: true,
  GATEPOST_PUSH_RECONNECT_SECONDS: true,
  GATEPOST_PUSH_ROLES: true,
  GATEPOST_PUSH_VENDOR_CONNECTIONS: true,
  GATEPOST_PUSH_VENDOR_URLS: true,
  GATEPOST_PUSH_VENDOR_WINDOW: true,
  GATEPOST_RATE_LIMIT_DEVICE_LOGINS: true,
  GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: true,
  GATEPOST_SECRET: true,
  GATEPOST_TRUSTED_PROXIES: true,
});

/** A process that is only a connector opens no database, so `DATABASE_URL` is optional. */
export const connectorEnvironment = pushDeliveryEnvironment.extend({
  DATABASE_URL: z
    .string()
    .optional()
    .transform((url) => url ?? ''),
});

/** The services that GATEPOST_PUSH_VENDOR_URLS can replace, with their documented addresses. */
const VENDOR_URLS = {
  apns: 'https://api.push.apple.com',
  'apns-dev': 'https://api.sandbox.push.apple.com',
  fcm: 'https://fcm.googleapis.com',
  'fcm-token': 'https://oauth2.googleapis.com/token',
  huawei: 'https://push-api.cloud.huawei.com',
  'huawei-token': 'https://oauth-login.cloud.huawei.com',
  honor: 'https://push-api.cloud.honor.com',
  'honor-token': 'https://iam.developer.honor.com',
  xiaomi: '',
  'xiaomi-feedback': '',
  oppo: 'https://api.push.oppomobile.com',
  vivo: 'https://api-push.vivo.com.cn',
  meizu: 'http://server-api-push.meizu.com',
} as const;

/** A request to one of these vendors carries up to 500 devices. */
const OF_MANY_DEVICES = { huawei: 8, honor: 8, xiaomi: 8, oppo: 8, vivo: 8, meizu: 8 };
const WINDOWS = { apns: 2_000, fcm: 500, 'web-push': 100, ...OF_MANY_DEVICES };
const CONNECTIONS = { apns: 2, fcm: 2, 'web-push': 16, ...OF_MANY_DEVICES };

export interface PushDeliveryConfig {
  readonly databaseUrl: string;
  readonly databasePool: number;
  /** Dispatchers accept pushes and find devices, connectors hold devices' connections, senders call the vendors. */
  readonly roles: ReadonlySet<'dispatcher' | 'connector' | 'sender'>;
  readonly objectLimitBytes: number;
  readonly queueLimit: number;
  readonly connector: ConnectorConfig;
  readonly vendors: VendorsConfig | undefined;
}

export interface VendorsConfig {
  readonly secret: Secret;
  readonly acceptedSecrets: readonly Secret[];
  readonly urls: Readonly<Record<keyof typeof VENDOR_URLS, string>>;
  readonly internalNetworks: readonly string[];
  readonly windows: Readonly<Record<Vendor, number>>;
  /** Connections, of a lane to APNs and FCM, of the process to a server of other vendors. */
  readonly connections: Readonly<Record<Vendor, number>>;
}

interface ConnectorConfig {
  readonly connectionLimit: number;
  readonly pingSeconds: number;
  /** Devices of a stopping connector reconnect spread over this time. */
  readonly reconnectSeconds: number;
  /** `6000/60` or `off`. */
  readonly loginLimit: string;
  /** Logins with an unknown application: `1000/60` or `off`. */
  readonly failedCredentials: string;
  readonly trustedProxies: readonly string[];
}

export function vendorsOf({ vendors }: PushDeliveryConfig): VendorsConfig {
  if (vendors === undefined) throw new Error('a connector has no channels of vendors');
  return vendors;
}

export const PUSH_DELIVERY_CONFIG = Symbol('PushDeliveryConfig');

/** @throws ConfigError for a missing secret of a dispatcher or sender, or an address of an unknown service */
export function pushDeliveryConfig(env: z.output<typeof pushDeliveryEnvironment>): PushDeliveryConfig {
  return Object.freeze({
    databaseUrl: env.GATEPOST_PUSH_DATABASE_URL ?? env.DATABASE_URL,
    databasePool: env.GATEPOST_DATABASE_POOL,
    roles: env.GATEPOST_PUSH_ROLES,
    objectLimitBytes: env.GATEPOST_BODY_LIMIT_BYTES,
    queueLimit: env.GATEPOST_PUSH_QUEUE_LIMIT,
    connector: {
      connectionLimit: env.GATEPOST_PUSH_CONNECTIONS,
      pingSeconds: env.GATEPOST_PUSH_PING_SECONDS,
      reconnectSeconds: env.GATEPOST_PUSH_RECONNECT_SECONDS,
      loginLimit: env.GATEPOST_RATE_LIMIT_DEVICE_LOGINS,
      failedCredentials: env.GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS,
      trustedProxies: env.GATEPOST_TRUSTED_PROXIES,
    },
    vendors: vendorsConfig(env),
  });
}

function vendorsConfig(env: z.output<typeof pushDeliveryEnvironment>): VendorsConfig | undefined {
  if (!env.GATEPOST_PUSH_ROLES.has('dispatcher') && !env.GATEPOST_PUSH_ROLES.has('sender')) return undefined;
  if (env.GATEPOST_SECRET === undefined)
    throw new ConfigError(['GATEPOST_SECRET: is missing. Use the same secret as for the other services.']);
  const replaced = Object.fromEntries(env.GATEPOST_PUSH_VENDOR_URLS);
  assertNames('GATEPOST_PUSH_VENDOR_URLS', env.GATEPOST_PUSH_VENDOR_URLS, VENDOR_URLS);
  assertNames('GATEPOST_PUSH_VENDOR_WINDOW', env.GATEPOST_PUSH_VENDOR_WINDOW, WINDOWS);
  assertNames('GATEPOST_PUSH_VENDOR_CONNECTIONS', env.GATEPOST_PUSH_VENDOR_CONNECTIONS, CONNECTIONS);
  return {
    secret: env.GATEPOST_SECRET,
    acceptedSecrets: env.GATEPOST_ACCEPTED_SECRETS,
    urls: { ...VENDOR_URLS, ...replaced },
    internalNetworks: env.GATEPOST_INTERNAL_NETWORKS,
    windows: { ...WINDOWS, ...Object.fromEntries(env.GATEPOST_PUSH_VENDOR_WINDOW) },
    connections: { ...CONNECTIONS, ...Object.fromEntries(env.GATEPOST_PUSH_VENDOR_CONNECTIONS) },
  };
}

function assertNames(variable: string, given: ReadonlyMap<string, unknown>, known: object): void {
  if ([...given.keys()].every((name) => name in known)) return;
  throw new ConfigError([`${variable}: must name services (${Object.keys(known).join(', ')})`]);
}
