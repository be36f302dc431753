import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Undo } from '#console-api';
import { CleanupJob, type Queryable, type Tx } from '#database';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';
import { ConsoleDatabase } from '../console.database.js';
import { type Page, pageOf, readCursor, UUID } from '../routing/list.rules.js';
import type { AuditEntity } from './audit.entity.js';
import {
  type AuditFilter,
  changeOf,
  LONG_ACTS,
  OPEN_FOR_MS,
  type ShownAudit,
  storableUndo,
  type StoredAudit,
} from './audit.rules.js';

export type BegunAct = Pick<
  AuditEntity,
  'action' | 'appId' | 'change' | 'network' | 'operatorId' | 'operatorName' | 'requestId' | 'target' | 'way'
>;

export interface EndedAct {
  readonly outcome: 'done' | 'failed' | 'refused' | 'unknown';
  readonly errorName?: string | undefined;
  readonly target?: string | undefined;
  /** Of an act that signed this operator in. An entry that has an operator keeps it. */
  readonly operator?: Readonly<{ id: string; name: string }> | undefined;
  readonly before?: Readonly<Record<string, unknown>> | undefined;
  readonly undo?: Undo | null | undefined;
}

/** A later act has made the change of the undo. The last condition is that of the partial index audit_change_idx. */
const IS_UNDONE = `
  undo IS NOT NULL AND EXISTS (
    SELECT 1 FROM console.audit later
     WHERE string_to_array(later.target, ' ') @> string_to_array(audit.target, ' ') AND later.app_id = audit.app_id
       AND later.begun_at > audit.begun_at AND later.outcome = 'done' AND later.action = audit.undo ->> 'action'
       AND later.change = audit.undo -> 'body' AND later.change <> '{}')`;
const COLUMNS = `
  id, begun_at AS "begunAt", ended_at AS "endedAt", operator_id AS "operatorId", operator_name AS "operatorName", way,
  network, app_id AS "appId", action, target, change, before, undo, outcome, error_name AS "errorName", request_id AS "requestId",
  ${IS_UNDONE} AS "isUndone"`;

/** Writes an entry before the act, and the outcome after it. */
@Injectable()
export class AuditRepository {
  constructor(
    private readonly database: ConsoleDatabase,
    private readonly clock: Clock,
  ) {}

  /** Commits the entry. @returns its id */
  async begin(act: BegunAct): Promise<string> {
    return this.#insert(act, 'begun', null);
  }

  async refused(act: BegunAct, errorName: string): Promise<void> {
    await this.#insert(act, 'refused', errorName);
  }

  /** An act within a transaction: both are committed, or none. */
  async done(act: BegunAct, tx: Tx): Promise<void> {
    await this.#insert(act, 'done', null, tx);
  }

  /** @throws AppError NOT_FOUND without an open entry */
  async end(id: string, { outcome, errorName, target, operator, before, undo }: EndedAct): Promise<void> {
    const rows = await this.database.query(
      `UPDATE console.audit SET outcome = $2, error_name = $3, ended_at = now(), target = COALESCE($4, target), before = $5, undo = $8,
              operator_id = COALESCE(operator_id, $6),
              operator_name = CASE WHEN operator_id IS NULL THEN COALESCE($7, operator_name) ELSE operator_name END
        WHERE id = $1 AND outcome = 'begun' RETURNING 1`,
      [
        id,
        outcome,
        errorName ?? null,
        target ?? null,
        before === undefined ? null : JSON.stringify(changeOf(before)),
        operator?.id ?? null,
        operator?.name ?? null,
        undo ? JSON.stringify(storableUndo(undo)) : null,
      ],
    );
    if (rows.length === 0) throw appError('NOT_FOUND', { message: 'There is no such open entry.' });
  }

  /** Newest first. @throws AppError INVALID_QUERY for a malformed cursor */
  async page(filter: AuditFilter, limit: number): Promise<Page<ShownAudit>> {
    const { clauses, values } = clausesOf(filter);
    const rows = await this.database.query<StoredAudit>(
      `SELECT ${COLUMNS} FROM console.audit ${clauses.length === 0 ? '' : `WHERE ${clauses.join(' AND ')}`}
        ORDER BY begun_at DESC, id DESC LIMIT $${values.length + 1}`,
      [...values, limit + 1],
    );
    const nowMs = this.clock.now().getTime();
    const found = rows.map((row) => toShownAudit(row, nowMs));
    return pageOf(found, limit, ({ begunAt, id }) => ({ at: begunAt, id }));
  }

  async #insert(
    act: BegunAct,
    outcome: string,
    errorName: string | null,
    tx: Queryable = this.database,
  ): Promise<string> {
    const id = randomUUID();
    await tx.query(
      `INSERT INTO console.audit (id, operator_id, operator_name, way, network, app_id, action, target, change, request_id,
                                  outcome, error_name, ended_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, CASE WHEN $11 = 'begun' THEN NULL ELSE now() END)`,
      [
        id,
        act.operatorId,
        act.operatorName,
        act.way,
        act.network,
        act.appId,
        act.action,
        act.target,
        JSON.stringify(act.change),
        act.requestId,
        outcome,
        errorName,
      ],
    );
    return id;
  }
}

/** An entry as operators see it: an act without an outcome that cannot be under way any more is `unknown`. */
function toShownAudit({ begunAt, endedAt, change, before, ...entry }: StoredAudit, nowMs: number): ShownAudit {
  const openForMs = OPEN_FOR_MS + (LONG_ACTS.get(entry.action) ?? 0);
  const isCutOff = entry.outcome === 'begun' && begunAt.getTime() < nowMs - openForMs;
  return {
    ...entry,
    // Earlier versions wrote more.
    change: changeOf(change),
    before: before && changeOf(before),
    outcome: isCutOff ? 'unknown' : entry.outcome,
    begunAt: begunAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

const LONG_ACTS_JSON = JSON.stringify(Object.fromEntries(LONG_ACTS));
/** `?`: the value. An act can have several targets: each is found. */
const CONDITIONS = [
  ['operatorId', 'operator_id = ?'],
  ['appId', 'app_id = ?'],
  ['action', 'action = ?'],
  ['target', "string_to_array(target, ' ') @> string_to_array(?, ' ')"],
  ['from', 'begun_at >= ?'],
  ['to', 'begun_at < ?'],
] as const;

/** The act cannot be under way any more. @param graceMs added to its longest duration @param longActs the parameter with `LONG_ACTS_JSON` */
function isCutOff(graceMs: number, longActs: string): string {
  const openForMs = `${graceMs} + COALESCE((${longActs}::jsonb ->> action)::int, 0)`;
  return `outcome = 'begun' AND begun_at < now() - (${openForMs}) * interval '1 millisecond'`;
}

function outcomeClause(outcome: string, value: (given: unknown) => string): string {
  if (outcome !== 'begun' && outcome !== 'unknown') return `outcome = ${value(outcome)}`;
  const cutOff = isCutOff(OPEN_FOR_MS, value(LONG_ACTS_JSON));
  return outcome === 'begun' ? `outcome = 'begun' AND NOT (${cutOff})` : `(outcome = 'unknown' OR ${cutOff})`;
}

function clausesOf(filter: AuditFilter): { clauses: string[]; values: unknown[] } {
  const values: unknown[] = [];
  const value = (given: unknown) => `$${values.push(given)}`;
  const clauses = CONDITIONS.flatMap(([name, sql]) =>
    filter[name] === undefined ? [] : [sql.replace('?', () => value(filter[name]))],
  );
  if (filter.outcome !== undefined) clauses.push(outcomeClause(filter.outcome, value));
  if (filter.visible !== undefined) {
    const { operatorId, appIds, everyApplication } = filter.visible;
    const onApplications = everyApplication ? 'app_id IS NOT NULL' : `app_id = ANY(${value(appIds)})`;
    clauses.push(`(operator_id = ${value(operatorId)} OR ${onApplications})`);
  }
  if (filter.after !== undefined) {
    const { at, id } = readCursor(filter.after, UUID);
    clauses.push(`(begun_at, id) < (${value(at)}, ${value(id)}::uuid)`);
  }
  return { clauses, values };
}

const INTERVAL_MS = 60_000;
/** Longer than any RPC waits. */
const CLOSED_AFTER_MS = 300_000;

const UNNEEDED = [
  { table: 'console.sessions', where: 'ends_at < now()', orderBy: 'ends_at' },
  { table: 'console.links', where: `ends_at < now() - interval '30 days'` },
  { table: 'console.challenges', where: 'ends_at < now()', orderBy: 'ends_at' },
  { table: 'console.attempts', where: `changed_at < now() - interval '1 hour'`, orderBy: 'changed_at' },
];
const CUT_OFF_ACTS = {
  table: 'console.audit',
  set: `outcome = 'unknown', ended_at = now()`,
  where: isCutOff(CLOSED_AFTER_MS, '$1'),
  orderBy: 'begun_at',
  values: [LONG_ACTS_JSON],
};
const OLD_ENTRIES = { table: 'console.audit', where: 'begun_at < now() - $1::interval', orderBy: 'begun_at' };

@Injectable()
export class ConsoleCleanup extends CleanupJob {
  constructor(database: ConsoleDatabase, metrics: Metrics, @Inject(CONSOLE_CONFIG) { auditDays }: ConsoleConfig) {
    const oldEntries = { ...OLD_ENTRIES, values: [`${auditDays} days`] };
    super({
      name: 'console-cleanup',
      intervalMs: INTERVAL_MS,
      metrics,
      database,
      unneeded: [CUT_OFF_ACTS, ...UNNEEDED, oldEntries],
    });
  }
}
