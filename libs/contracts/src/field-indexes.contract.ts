import { z } from 'zod';
import { appId, CLASS_NAMES } from './application.schema.js';
import { rpc } from './message-kinds.js';

/** Fields that one index may have, in their order. */
export const MAX_INDEXED_FIELDS = 3;

const className = z.enum(CLASS_NAMES);
/** Names as fields have them; which are custom fields of the class, its service decides. */
const fields = z
  .array(z.string().regex(/^[A-Za-z]\w{0,127}$/, 'is no name of a field'))
  .min(1)
  .max(MAX_INDEXED_FIELDS);
const count = z.number().int().min(0);

/** An index of custom fields that an operator has asked for. */
const fieldIndex = z.object({
  className,
  fields: z.array(z.string()),
  /** `removing`: queries use it no more. `failed`: `problem` says why; remove it, or add it again. */
  state: z.enum(['building', 'ready', 'failed', 'removing']),
  problem: z.string().nullable(),
  /** What PostgreSQL does while it is built, as its `pg_stat_progress_create_index` says; null where it has not begun. */
  progress: z.object({ phase: z.string(), percent: z.number().min(0).max(100).nullable() }).nullable(),
  bytes: count,
});

export type FieldIndexReport = z.output<typeof fieldIndex>;

/** A kind of question that took long in the last day: fields and operators, never values. */
const slowQuestion = z.object({
  className,
  question: z.string(),
  runs: count,
  meanMs: count,
  maxMs: count,
  /** Fields of an index that would serve it; empty where none would. */
  fields: z.array(z.string()),
  /** Whether there is such an index already. */
  isIndexed: z.boolean(),
});

export type SlowQuestion = z.output<typeof slowQuestion>;

/** What operators ask about indexes of custom fields, of the service that keeps the class. By the same ways as `applicationsRpc`. */
function fieldIndexesRpc(service: 'accounts' | 'push-delivery') {
  const named = z.object({ appId, className, fields });
  return {
    /** Answers once the wish is safe; it is built afterwards. Fails with INVALID_QUERY where it cannot be, or there are too many. */
    add: rpc(`${service}.addFieldIndex`, named, z.object({})),
    list: rpc(`${service}.listFieldIndexes`, z.object({ appId }), z.object({ indexes: z.array(fieldIndex) })),
    /** Answers once no query will use it any more. Fails with NOT_FOUND. */
    remove: rpc(`${service}.removeFieldIndex`, named, z.object({})),
    /** The slow questions of the last day, those first that took the most time together. */
    suggest: rpc(`${service}.listSlowQuestions`, z.object({ appId }), z.object({ questions: z.array(slowQuestion) })),
  };
}

export const accountsIndexesRpc = fieldIndexesRpc('accounts');
export const pushIndexesRpc = fieldIndexesRpc('push-delivery');
export type FieldIndexesRpc = typeof accountsIndexesRpc;
