import type { Tx } from '#database';
import { appError } from '#errors';
import { compileCondition, type CompiledCondition } from '../query/compile.js';
import { parseWhere } from '../query/parse.js';
import type { QueryClass, QueryScope } from '../query/query.js';
import { queryFailure } from './query-database.js';

/** Timeout of a condition on one object, in milliseconds: the check occupies a connection. */
const TIMEOUT_MS = 300;

/** The condition of a write (`?where=`), checked once its object is locked. */
export interface UpdateCondition {
  /**
   * @throws AppError NO_EFFECT where the object does not match; QUERY_TIMED_OUT, or INVALID_QUERY where PostgreSQL refuses a regular
   *   expression. The transaction has failed then.
   */
  assertMet(tx: Tx, objectId: string): Promise<void>;
}

/** The condition of a write without `where`. */
export const ALWAYS_MET: UpdateCondition = { assertMet: () => Promise.resolve() };

/** @throws AppError INVALID_QUERY, also for fields that the caller may not query */
export function updateCondition(where: unknown, queryClass: QueryClass, scope: QueryScope): UpdateCondition {
  const condition = parseWhere(where);
  return {
    assertMet: async (tx, objectId) => {
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
