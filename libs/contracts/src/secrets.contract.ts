import { z } from 'zod';
import { rpc } from './message-kinds.js';

/** Names a secret without telling anything of it. */
const keyId = z.string().regex(/^[0-9a-f]{8}$/);
const tableName = z.string().max(100);
const rowKey = z.array(z.string().max(256)).max(8);

/** What a service that seals tells operators, by the same ways as `applicationsRpc`. */
function sealingRpcOf(service: string) {
  return {
    /** What the process that answers seals with and accepts, and the names of what the service has sealed. `instance`: that process. */
    describe: rpc(
      `${service}.describeSealing`,
      z.object({}),
      z.object({ instance: z.uuid(), keyId, acceptedKeyIds: z.array(keyId), tables: z.array(tableName) }),
    ),
    /**
     * Goes through a page of one table: counts values by the key that sealed them, and seals anew what an accepted one did, if asked.
     * Fails with NO_EFFECT where the process that answers seals with another key than `keyId`.
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

/** What accounts has sealed; it also keeps when a rotation was complete, for the whole deployment. */
export const accountsSealingRpc = {
  ...sealingRpcOf('accounts'),
  /** Notes that nothing at rest needs another key. `isChanged`: something did until now. */
  noteRotation: rpc('accounts.noteSecretRotation', z.object({ keyId, isChanged: z.boolean() }), z.object({})),
  /** Until when what is not at rest may need another key: mailed links, and codes of text messages. Null: no rotation was noted. */
  getRotation: rpc(
    'accounts.getSecretRotation',
    z.object({ keyId }),
    z.object({ linksUntil: z.iso.datetime().nullable(), codesUntil: z.iso.datetime().nullable() }),
  ),
};

/** What auth-linking has sealed. */
export const authLinkingSealingRpc = sealingRpcOf('auth-linking');

/** What mail has sealed. */
export const mailSealingRpc = sealingRpcOf('mail');

/** The secret that the standalone server keeps in its data folder. */
export const keptSecretsRpc = {
  /** Makes a new secret, and accepts the one before it. It counts from the next start on. Fails with NO_EFFECT. */
  swap: rpc('standalone.swapSecret', z.object({}), z.object({})),
  /** Forgets the secrets that were accepted, from the next start on. Fails with NO_EFFECT where there are none. */
  forget: rpc('standalone.forgetAcceptedSecrets', z.object({}), z.object({})),
};

const MAX_WAIT_MS = 8_000;

const serverReport = z.object({
  name: z.string(),
  /** Why it could not be asked. */
  problem: z.string().nullable(),
  facts: z
    .object({
      version: z.string(),
      /** How far its clock is ahead of the process's, in milliseconds. */
      skewMs: z.number().int(),
      settings: z.record(z.string(), z.string()).optional(),
    })
    .nullable(),
});

/** What a process says of itself and of the servers that it uses; no secret. */
export const processReport = z.object({
  /** Tells it from others of its service. */
  instance: z.uuid(),
  /** The service that it is. */
  service: z.string(),
  host: z.string(),
  pid: z.number().int(),
  version: z.string(),
  node: z.string(),
  isProduction: z.boolean(),
  now: z.iso.datetime(),
  /** As in `/readyz`. */
  problems: z.array(z.string()),
  servers: z.array(serverReport),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

/** That, as a type. */
export type ProcessReport = z.output<typeof processReport>;

const examineRpcOf = (service: string) => rpc(`${service}.examine`, z.object({}), processReport, MAX_WAIT_MS);

/** Asks a process how it is; each question is answered by one of those that run. By the same ways as `applicationsRpc`. */
export const selfReportRpc = {
  gateway: examineRpcOf('gateway'),
  accounts: examineRpcOf('accounts'),
  authLinking: examineRpcOf('auth-linking'),
  mail: examineRpcOf('mail'),
  pushDelivery: examineRpcOf('push-delivery'),
  standalone: examineRpcOf('standalone'),
};
