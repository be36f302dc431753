import type { Tx } from '#database';
import { appError } from '#errors';
import type { ObjectRow } from '../class-definition.js';
import { compileCondition, type CompiledCondition } from '../query/compile.js';
import { parseWhere } from '../query/parse.js';
import type { QueryClass, QueryScope } from '../query/query.js';
import { queryFailure } from './query-database.js';

/** Timeout of a condition on one object, in milliseconds: the check occupies a connection. */
const TIMEOUT_MS = 300;

type LockedObject = Pick<ObjectRow, 'objectId' | 'acl'>;

/** The condition of a write (`?where=`), checked once its object is locked. */
export interface UpdateCondition {
  /**
   * @throws AppError NOT_FOUND where the ACL hides the object; NO_EFFECT where it does not match; QUERY_TIMED_OUT, or INVALID_QUERY where
   *   PostgreSQL refuses a regular expression. The transaction has failed then.
   */
  assertMet(tx: Tx, object: LockedObject): Promise<void>;
}

/** The condition of a write without `where`. */
export const ALWAYS_MET: UpdateCondition = { assertMet: () => Promise.resolve() };

/** The objects that a condition may look at, and their fields. */
interface ConditionView {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly isReadable: (object: LockedObject) => boolean;
}

/** @throws AppError INVALID_QUERY, also for fields that the caller may not query */
export function updateCondition(where: unknown, { queryClass, scope, isReadable }: ConditionView): UpdateCondition {
  const condition = parseWhere(where);
  return {
    assertMet: async (tx, object) => {
      if (!isReadable(object)) throw appError('NOT_FOUND');
      const { objectId } = object;
      const compiled = compileCondition(condition, queryClass, scope, [scope.appId, objectId]);
      if (!(await isMet(tx, queryClass, compiled))) throw appError('NO_EFFECT');
    },
  };
}

/** @param condition its first two parameters are the application and the object's id */
async function isMet(
  tx: Tx,
  { table, appColumn, idColumn }: QueryClass,
  { sql, parameters }: CompiledCondition,
): Promise<boolean> {
  const statement = `SELECT 1 FROM ${table} WHERE ${appColumn} = $1 AND ${idColumn} = $2 AND ${sql}`;
  await tx.limitStatements(TIMEOUT_MS);
  try {
    const rows = await tx.query(statement, parameters);
    await tx.limitStatements(null);
    return rows.length > 0;
  } catch (error) {
    throw queryFailure(error);
  }
}
