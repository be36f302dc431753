import { z } from 'zod';
import { rpc } from './message-kinds.js';

/** A link that is shown once and works once. */
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

/** Maximum number of audit entries in one page. */
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
  /** A link with which an operator sets a new password. Earlier links of the operator end. Fails with NOT_FOUND. */
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
  /** Writes an audit entry before an act of the command line. */
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
  /** Writes the outcome of such an act. Fails with NOT_FOUND where it has one. */
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
