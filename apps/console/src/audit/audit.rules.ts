import { SECRET_SETTING_NAMES } from '#contracts';
import { appError } from '#errors';
import type { AuditEntity } from './audit.entity.js';

/** Which entries of the audit log. */
export interface AuditFilter {
  readonly operatorId?: string | undefined;
  readonly appId?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  /** Only acts of this operator, and those on these applications, or on any; undefined: all. */
  readonly visible?:
    { readonly operatorId: string; readonly appIds: readonly string[]; readonly everyApplication: boolean } | undefined;
}

/** An act that is open for longer was cut off. */
const OPEN_FOR_MS = 60_000;

/** An entry as operators see it, with times as texts. */
export type ShownAudit = Omit<AuditEntity, 'begunAt' | 'endedAt'> & {
  readonly begunAt: string;
  readonly endedAt: string | null;
};

/** An entry as operators see it: an act without an outcome that cannot be under way any more is `unknown`. */
export function shown({ begunAt, endedAt, ...entry }: AuditEntity, nowMs: number): ShownAudit {
  const isCutOff = entry.outcome === 'begun' && begunAt.getTime() < nowMs - OPEN_FOR_MS;
  return {
    ...entry,
    outcome: isCutOff ? 'unknown' : entry.outcome,
    begunAt: begunAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

/** The cursor after an entry. */
export function cursorAfter({ begunAt, id }: Pick<ShownAudit, 'begunAt' | 'id'>): string {
  return `${begunAt},${id}`;
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z),([0-9a-f-]{36})$/;

/** @throws AppError INVALID_QUERY */
export function readCursor(text: string): { begunAt: string; id: string } {
  const [, begunAt, id] = CURSOR.exec(text) ?? [];
  if (begunAt === undefined || id === undefined) throw appError('INVALID_QUERY', { message: 'after: is no cursor.' });
  return { begunAt, id };
}

const HIDDEN = '(changed)';

/** Whether the console never shows a setting's value. The codes of test numbers let anyone log in as their users. */
export function isSecretSetting(name: string): boolean {
  return name === 'testPhones' || SECRET_SETTING_NAMES.some((secret) => secret === name);
}

/** Members of requests that an entry must not hold. */
const SECRET_MEMBERS = new Set(['newPassword', 'oldPassword', 'password', 'token']);
/** JSON text of a change, above which the entry says only that it was large. */
const MAX_CHANGE_LENGTH = 16_384;

/** The body of a request as an entry holds it: passwords, tokens and credentials as `(changed)`. */
export function changeOf(
  body: Readonly<Record<string, unknown>>,
  isSecret: (name: string) => boolean = () => false,
): Record<string, unknown> {
  const change = Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      SECRET_MEMBERS.has(name) || isSecret(name) ? HIDDEN : withoutPasswords(value),
    ]),
  );
  return bounded(change);
}

/** Fields of a user can include a new password. */
function withoutPasswords(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !('password' in value)) return value;
  return { ...value, password: HIDDEN };
}

/** A value that is small enough for an entry, or the note that it was not. */
export function bounded(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { length } = JSON.stringify(value);
  return length > MAX_CHANGE_LENGTH ? { '(too large)': `${length} characters` } : { ...value };
}
