import { z } from 'zod';
import { grant, grants, operatorAddress, operatorId, operatorName } from './access.api.js';
import { count, cursor, exportRoute, limit, pageOf, route, time, undo } from './route.js';

/** `invited`: without a way to sign in yet. `disabled`: cannot sign in. */
export const OPERATOR_STATES = ['active', 'invited', 'disabled'] as const;

const operator = z.object({
  id: operatorId,
  name: z.string(),
  address: z.string(),
  isOwner: z.boolean(),
  state: z.enum(OPERATOR_STATES),
  hasSecondFactor: z.boolean(),
  grants: z.array(grant),
  createdAt: time,
  lastSeenAt: time.nullable(),
  lockedUntil: time.nullable(),
});

export type Operator = z.output<typeof operator>;

const oneOperator = z.object({ operator });
const rights = z.strictObject({ isOwner: z.boolean(), grants });
/** Shown once, works once. `isMailed`: the operator also gets it by mail. */
const link = z.object({ url: z.string(), endsAt: time, isMailed: z.boolean() });
const mailLanguage = z.enum(['en', 'zh']).default('en');
const onOperator = { access: 'operators.write', params: z.object({ operatorId }) } as const;

/** `refused`: an error with status 4xx. `failed`: another error. `unknown`: the process or a service has left no outcome. */
export const AUDIT_OUTCOMES = ['begun', 'done', 'refused', 'failed', 'unknown'] as const;

export const auditEntry = z.object({
  id: z.uuid(),
  begunAt: time,
  endedAt: time.nullable(),
  /** Null: an act without an operator, such as a failed sign-in. */
  operatorId: operatorId.nullable(),
  /** The name at that time; for the command line the system user. */
  operatorName: z.string(),
  way: z.enum(['console', 'cli']),
  network: z.string().nullable(),
  appId: z.string().nullable(),
  action: z.string(),
  target: z.string().nullable(),
  /** Fields of the request; secrets and passwords as `(changed)`. */
  change: z.record(z.string(), z.unknown()),
  before: z.record(z.string(), z.unknown()).nullable(),
  outcome: z.enum(AUDIT_OUTCOMES),
  errorName: z.string().nullable(),
  requestId: z.string(),
});

export type AuditEntry = z.output<typeof auditEntry>;

const auditFilters = z.object({
  operatorId: operatorId.optional(),
  appId: z.string().max(64).optional(),
  action: z.string().max(100).optional(),
  target: z.string().max(300).optional(),
  outcome: z.enum(AUDIT_OUTCOMES).optional(),
  from: time.optional(),
  to: time.optional(),
});

export const operatorsApi = {
  listOperators: route({
    method: 'GET',
    path: '/operators',
    access: 'operators.write',
    reply: z.object({ items: z.array(operator) }),
  }),
  /** The operator sets a password through the link. */
  inviteOperator: route({
    method: 'POST',
    path: '/operators',
    access: 'operators.write',
    needsProof: true,
    body: z.strictObject({
      name: operatorName,
      address: operatorAddress,
      isOwner: z.boolean().default(false),
      grants,
      language: mailLanguage,
    }),
    reply: oneOperator.extend({ link }),
  }),
  changeOperator: route({
    method: 'PATCH',
    path: '/operators/:operatorId',
    ...onOperator,
    needsProof: true,
    body: z.strictObject({ isDisabled: z.boolean() }),
    reply: oneOperator,
  }),
  /** Fails with NO_EFFECT if the stored rights are not `former`, those that were read, and for the last active owner. */
  setGrants: route({
    method: 'PUT',
    path: '/operators/:operatorId/grants',
    ...onOperator,
    needsProof: true,
    body: rights.extend({ former: rights }),
    reply: oneOperator,
  }),
  endOperatorSessions: route({
    method: 'POST',
    path: '/operators/:operatorId/end-sessions',
    ...onOperator,
    reply: z.object({ ended: count }),
  }),
  /** An invitation for an invited operator, else a recovery. Earlier links of the operator end. */
  createOperatorLink: route({
    method: 'POST',
    path: '/operators/:operatorId/link',
    ...onOperator,
    needsProof: true,
    body: z.strictObject({ language: mailLanguage }),
    reply: z.object({ link }),
  }),

  /** Newest first. An owner sees all entries; a developer those of granted applications, and own ones; other operators their own. */
  listAudit: route({
    method: 'GET',
    path: '/audit',
    access: 'operator',
    query: auditFilters.extend({ after: cursor.optional(), limit }),
    reply: pageOf(auditEntry.extend({ undo, isUndone: z.boolean() })),
  }),
  exportAudit: exportRoute({
    path: '/audit/export',
    access: 'operator',
    query: auditFilters,
    row: auditEntry,
    fileName: 'audit',
  }),
};
