import { z } from 'zod';
import { appId } from './application.schema.js';
import { givenCredentials, rpc } from './messages.schema.js';
import { platformKind, platformName } from './user.schema.js';

const keyId = z.string().regex(/^[0-9a-f]{8}$/);
const tableName = z.string().max(100);
const rowKey = z.array(z.string().max(256)).max(8);

/** RPCs for operators about the sealed values of a service, available like `applicationsRpc`. */
function sealingRpcOf(service: string) {
  return {
    describe: rpc(
      `${service}.describeSealing`,
      z.object({}),
      z.object({ instance: z.uuid(), keyId, acceptedKeyIds: z.array(keyId), tables: z.array(tableName) }),
    ),
    /** A page of a table: counts values by sealing key, and reseals on request. NO_EFFECT where the process seals with another key than `keyId`. */
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

export const accountsSealingRpc = {
  ...sealingRpcOf('accounts'),
  recordRotation: rpc('accounts.recordSecretRotation', z.object({ keyId, isChanged: z.boolean() }), z.object({})),
  /** Until when mailed links and codes of text messages may need another key. Null: no rotation was recorded. */
  getRotation: rpc(
    'accounts.getSecretRotation',
    z.object({ keyId }),
    z.object({ linksUntil: z.iso.datetime().nullable(), codesUntil: z.iso.datetime().nullable() }),
  ),
};

export const authLinkingSealingRpc = sealingRpcOf('auth-linking');

export const mailSealingRpc = sealingRpcOf('mail');

export const consoleSealingRpc = sealingRpcOf('console');

export const pushSealingRpc = sealingRpcOf('push-delivery');

export const storedSecretsRpc = {
  /** Generates a new secret and keeps the old one as accepted. Takes effect at the next start. Fails with NO_EFFECT. */
  swap: rpc('standalone.swapSecret', z.object({}), z.object({})),
  /** Deletes the accepted secrets. Takes effect at the next start. Fails with NO_EFFECT where there are none. */
  forget: rpc('standalone.forgetAcceptedSecrets', z.object({}), z.object({})),
};

const MAX_WAIT_MS = 8_000;

const serverReport = z.object({
  name: z.string(),
  problem: z.string().nullable(),
  facts: z
    .object({
      version: z.string(),
      skewMs: z.number().int(),
      settings: z.record(z.string(), z.string()).optional(),
    })
    .nullable(),
});

/** Diagnostics of a process and of the servers that it uses; contains no secret. */
export const processReport = z.object({
  instance: z.uuid(),
  service: z.string(),
  host: z.string(),
  pid: z.number().int(),
  version: z.string(),
  node: z.string(),
  isProduction: z.boolean(),
  now: z.iso.datetime(),
  problems: z.array(z.string()),
  servers: z.array(serverReport),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

export type ProcessReport = z.output<typeof processReport>;

const diagnoseRpcOf = (service: string) => rpc(`${service}.diagnose`, z.object({}), processReport, MAX_WAIT_MS);

/** Diagnostics of a process; one of the running replicas replies to each request. Available like `applicationsRpc`. */
export const diagnosticsRpc = {
  gateway: diagnoseRpcOf('gateway'),
  accounts: diagnoseRpcOf('accounts'),
  authLinking: diagnoseRpcOf('auth-linking'),
  mail: diagnoseRpcOf('mail'),
  pushDelivery: diagnoseRpcOf('push-delivery'),
  console: diagnoseRpcOf('console'),
  standalone: diagnoseRpcOf('standalone'),
};

export const MAX_LIMITED_CLIENTS = 1_000;

const limitedClient = z.object({
  group: z.string(),
  /** An IPv4 address, or an IPv6 /64 network. */
  network: z.string(),
  count: z.number().int().min(0),
  until: z.iso.datetime(),
});

export type LimitedClient = z.output<typeof limitedClient>;

export const gatewayRpc = {
  listLimitedClients: rpc(
    'gateway.listLimitedClients',
    z.object({ appId, limit: z.number().int().min(1).max(MAX_LIMITED_CLIENTS) }),
    z.object({ clients: z.array(limitedClient) }),
  ),
};

const shownCredentials = z.object({
  platform: platformName,
  kind: platformKind,
  shown: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
});

export type ShownCredentials = z.output<typeof shownCredentials>;

export const platformsRpc = {
  /** Replaces the platform's credentials. `fields`: as `PLATFORM_CREDENTIALS` defines for the kind. */
  set: rpc(
    'auth-linking.setPlatformCredentials',
    z.object({
      appId,
      platform: platformName,
      kind: platformKind,
      fields: givenCredentials,
    }),
    z.object({ credentials: shownCredentials }),
  ),
  remove: rpc('auth-linking.removePlatformCredentials', z.object({ appId, platform: platformName }), z.object({})),
  list: rpc(
    'auth-linking.listPlatformCredentials',
    z.object({ appId }),
    z.object({ platforms: z.array(shownCredentials) }),
  ),
};

export function sealedInvitationContext(email: string): string {
  return `invitation of ${email}`;
}

export const operatorMailsRpc = {
  /** The mail's `appId` is `.operators`, its kind `invitation`. Replies false where no SMTP server is configured, and queues none. */
  invite: rpc(
    'mail.inviteOperator',
    z.object({
      email: z.email().max(254),
      invitedBy: z.string(),
      sealedLink: z.string().max(4096),
      language: z.enum(['en', 'zh']),
      expiresAt: z.iso.datetime(),
    }),
    z.object({ isQueued: z.boolean() }),
  ),
};

const link = z.object({ url: z.string(), endsAt: z.iso.datetime() });

const address = z.string().max(254);

const operator = z.object({
  name: z.string(),
  address: z.string(),
  isOwner: z.boolean(),
  state: z.enum(['active', 'invited', 'disabled']),
  grants: z.array(z.object({ appId: z.string(), role: z.string() })),
  lastSeenAt: z.iso.datetime().nullable(),
});

const auditEntry = z.object({
  id: z.uuid(),
  begunAt: z.iso.datetime(),
  operatorName: z.string(),
  way: z.enum(['console', 'cli']),
  appId: z.string().nullable(),
  action: z.string(),
  target: z.string().nullable(),
  outcome: z.string(),
  errorName: z.string().nullable(),
});

export const MAX_AUDIT_PAGE = 200;

/** Acts of the command line that go through all rows: their audit entries stay open for up to a day. */
export const LONG_COMMANDS = ['importObjects', 'rotateSecret'] as const;

/** RPCs about the operator console, available like `applicationsRpc`. `by`: the system user who runs the command. */
export const consoleRpc = {
  /** A link for the first owner. Earlier ones end. Null where an owner exists. */
  createSetUpLink: rpc(
    'console.createSetUpLink',
    z.object({ by: z.string().max(100) }),
    z.object({ link: link.nullable() }),
  ),
  recoverOperator: rpc('console.recoverOperator', z.object({ address, by: z.string().max(100) }), z.object({ link })),
  /** A disabled operator cannot sign in; the sessions end. Fails with NOT_FOUND, and with NO_EFFECT for the last active owner. */
  disableOperator: rpc('console.disableOperator', z.object({ address, by: z.string().max(100) }), z.object({})),
  listOperators: rpc('console.listOperators', z.object({}), z.object({ operators: z.array(operator) })),
  /** Newest first. `after`: `next` of the page before. */
  listAudit: rpc(
    'console.listAudit',
    z.object({
      appId: z.string().max(64).optional(),
      action: z.string().max(100).optional(),
      after: z.string().max(1_024).optional(),
      limit: z.number().int().min(1).max(MAX_AUDIT_PAGE),
    }),
    z.object({ entries: z.array(auditEntry), next: z.string().nullable() }),
  ),
  beginAction: rpc(
    'console.beginAction',
    z.object({
      by: z.string().max(100),
      appId: z.string().max(64).optional(),
      action: z.string().max(100),
      target: z.string().max(300).optional(),
      change: z.record(z.string(), z.unknown()),
    }),
    z.object({ id: z.uuid() }),
  ),
  endAction: rpc(
    'console.endAction',
    z.object({
      id: z.uuid(),
      outcome: z.enum(['done', 'refused', 'failed']),
      errorName: z.string().max(100).optional(),
    }),
    z.object({}),
  ),
};
