import { z } from 'zod';
import { appId } from './application.schema.js';
import { rpc } from './message-kinds.js';

/** Identifies a secret without revealing anything about it. */
const keyId = z.string().regex(/^[0-9a-f]{8}$/);
const tableName = z.string().max(100);
const rowKey = z.array(z.string().max(256)).max(8);

/** RPCs for operators about the sealed values of a service, available like `applicationsRpc`. */
function sealingRpcOf(service: string) {
  return {
    /** The sealing key and the accepted keys of the replying process (`instance`), and the names of the service's sealed tables. */
    describe: rpc(
      `${service}.describeSealing`,
      z.object({}),
      z.object({ instance: z.uuid(), keyId, acceptedKeyIds: z.array(keyId), tables: z.array(tableName) }),
    ),
    /**
     * Processes one page of one table: counts values by the key that sealed them and, if requested, reseals those of accepted keys. Fails
     * with NO_EFFECT where the replying process seals with another key than `keyId`.
     */
    walk: rpc(
      `${service}.walkSealed`,
      z.object({ table: tableName, after: rowKey.nullable(), keyId, reseal: z.boolean() }),
      z.object({
        counts: z.record(z.string(), z.number().int()),
        resealed: z.number().int(),
        next: rowKey.nullable(),
      }),
    ),
  };
}

export type SealingRpc = ReturnType<typeof sealingRpcOf>;

/** The sealed values of accounts. Accounts also stores the time when a rotation was complete for the whole deployment. */
export const accountsSealingRpc = {
  ...sealingRpcOf('accounts'),
  /** Records that no value at rest needs another key. `isChanged`: until now, some value needed one. */
  noteRotation: rpc('accounts.noteSecretRotation', z.object({ keyId, isChanged: z.boolean() }), z.object({})),
  /**
   * Until when values outside the databases (mailed links, codes of text messages) may need another key. Null: no rotation was recorded.
   */
  getRotation: rpc(
    'accounts.getSecretRotation',
    z.object({ keyId }),
    z.object({ linksUntil: z.iso.datetime().nullable(), codesUntil: z.iso.datetime().nullable() }),
  ),
};

/** The sealed values of auth-linking. */
export const authLinkingSealingRpc = sealingRpcOf('auth-linking');

/** The sealed values of mail. */
export const mailSealingRpc = sealingRpcOf('mail');

/** The sealed values of the operator console. */
export const consoleSealingRpc = sealingRpcOf('console');

/** The sealed values of push-delivery. */
export const pushSealingRpc = sealingRpcOf('push-delivery');

/** The stored secret of the standalone server, in its data folder. */
export const storedSecretsRpc = {
  /** Generates a new secret and keeps the old one as accepted. Takes effect at the next start. Fails with NO_EFFECT. */
  swap: rpc('standalone.swapSecret', z.object({}), z.object({})),
  /** Deletes the accepted secrets. Takes effect at the next start. Fails with NO_EFFECT where there are none. */
  forget: rpc('standalone.forgetAcceptedSecrets', z.object({}), z.object({})),
};

const MAX_WAIT_MS = 8_000;

const serverReport = z.object({
  name: z.string(),
  /** The reason why the server did not reply. */
  problem: z.string().nullable(),
  facts: z
    .object({
      version: z.string(),
      /** How far the server's clock is ahead of the process's clock, in milliseconds. */
      skewMs: z.number().int(),
      settings: z.record(z.string(), z.string()).optional(),
    })
    .nullable(),
});

/** Diagnostics of a process and of the servers that it uses; contains no secret. */
export const processReport = z.object({
  /** Distinguishes the process from other replicas of its service. */
  instance: z.uuid(),
  /** The name of the service. */
  service: z.string(),
  host: z.string(),
  pid: z.number().int(),
  version: z.string(),
  node: z.string(),
  isProduction: z.boolean(),
  now: z.iso.datetime(),
  /** The problems that `/readyz` reports. */
  problems: z.array(z.string()),
  servers: z.array(serverReport),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

export type ProcessReport = z.output<typeof processReport>;

const examineRpcOf = (service: string) => rpc(`${service}.examine`, z.object({}), processReport, MAX_WAIT_MS);

/** Diagnostics of a process; one of the running replicas replies to each request. Available like `applicationsRpc`. */
export const diagnosticsRpc = {
  gateway: examineRpcOf('gateway'),
  accounts: examineRpcOf('accounts'),
  authLinking: examineRpcOf('auth-linking'),
  mail: examineRpcOf('mail'),
  pushDelivery: examineRpcOf('push-delivery'),
  console: examineRpcOf('console'),
  standalone: examineRpcOf('standalone'),
};

/** Maximum number of clients in one reply of `gateway.listLimitedClients`. */
export const MAX_LIMITED_CLIENTS = 1_000;

const limitedClient = z.object({
  /** The limit: `requests`, `logins`, `signUps` or `messages`. */
  group: z.string(),
  /** An IPv4 address, or an IPv6 /64 network. */
  network: z.string(),
  /** Requests of the current window, those that were refused included. */
  count: z.number().int().min(0),
  /** The end of the window. */
  until: z.iso.datetime(),
});

export type LimitedClient = z.output<typeof limitedClient>;

/** RPCs for operators about the limits of requests, available like `applicationsRpc`. */
export const gatewayRpc = {
  /** The clients of an application whose requests are refused now; the latest windows first. */
  listLimitedClients: rpc(
    'gateway.listLimitedClients',
    z.object({ appId, limit: z.number().int().min(1).max(MAX_LIMITED_CLIENTS) }),
    z.object({ clients: z.array(limitedClient) }),
  ),
};
