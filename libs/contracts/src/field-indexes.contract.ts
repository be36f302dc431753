import { z } from 'zod';
import { appId, CLASS_NAMES } from './application.schema.js';
import { rpc } from './message-kinds.js';

/** Maximum number of fields of one index. */
export const MAX_INDEXED_FIELDS = 3;

const className = z.enum(CLASS_NAMES);
/** Field names. The service decides which of them are custom fields of the class. */
const fields = z
  .array(z.string().regex(/^[A-Za-z]\w{0,127}$/, 'is not a valid field name'))
  .min(1)
  .max(MAX_INDEXED_FIELDS);
const count = z.number().int().min(0);

/** An index of custom fields that an operator has requested. */
const fieldIndex = z.object({
  className,
  fields: z.array(z.string()),
  /** `removing`: queries no longer use it. `failed`: `problem` gives the reason; remove the index, or add it again. */
  state: z.enum(['building', 'ready', 'failed', 'removing']),
  problem: z.string().nullable(),
  /** Progress of the build according to PostgreSQL's `pg_stat_progress_create_index`; null before the build starts. */
  progress: z.object({ phase: z.string(), percent: z.number().min(0).max(100).nullable() }).nullable(),
  bytes: count,
});

export type FieldIndexReport = z.output<typeof fieldIndex>;

/** A kind of slow query of the last day: fields and operators, never values. */
const slowQuestion = z.object({
  className,
  question: z.string(),
  runs: count,
  meanMs: count,
  maxMs: count,
  /** Fields of an index that would serve the query; empty where no index would help. */
  fields: z.array(z.string()),
  /** Whether such an index exists. */
  isIndexed: z.boolean(),
});

export type SlowQuery = z.output<typeof slowQuestion>;

/** RPCs for operators about indexes of custom fields, served by the service that stores the class. Available like `applicationsRpc`. */
function fieldIndexesRpc(service: 'accounts' | 'push-delivery') {
  const named = z.object({ appId, className, fields });
  return {
    /**
     * Replies once the request is stored; the build follows. Fails with INVALID_QUERY where the fields cannot be indexed or a limit is
     * reached.
     */
    add: rpc(`${service}.addFieldIndex`, named, z.object({})),
    list: rpc(`${service}.listFieldIndexes`, z.object({ appId }), z.object({ indexes: z.array(fieldIndex) })),
    /**
     * Replies once the removal is stored. Other processes may use the index for up to a second more; PostgreSQL drops it afterwards. Fails
     * with NOT_FOUND.
     */
    remove: rpc(`${service}.removeFieldIndex`, named, z.object({})),
    /** The slow queries of the last day, ordered by total time, longest first. */
    listSlowQuestions: rpc(
      `${service}.listSlowQuestions`,
      z.object({ appId }),
      z.object({ questions: z.array(slowQuestion) }),
    ),
  };
}

export const accountsIndexesRpc = fieldIndexesRpc('accounts');
export const pushIndexesRpc = fieldIndexesRpc('push-delivery');
export type FieldIndexesRpc = typeof accountsIndexesRpc;
