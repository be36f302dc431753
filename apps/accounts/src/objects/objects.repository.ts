import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import type { CompiledCondition, QueryClass } from '#object-query';
import { queryFailure } from '#stored-objects';

/** How long one object may be asked about, in milliseconds: meanwhile a connection is kept that logins need. */
const CONDITION_TIMEOUT_MS = 300;

/** Questions that are the same for every class. */
@Injectable()
export class ObjectsRepository {
  /**
   * @param condition its first two parameters are the application and the object's id
   * @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression; the transaction is over then
   */
  async matches(
    tx: Tx,
    { table, appColumn, idColumn }: QueryClass,
    { sql, parameters }: CompiledCondition,
  ): Promise<boolean> {
    const statement = `SELECT 1 FROM ${table} WHERE ${appColumn} = $1 AND ${idColumn} = $2 AND ${sql}`;
    await tx.query(`SET LOCAL statement_timeout = ${CONDITION_TIMEOUT_MS}`);
    try {
      const rows = await tx.query(statement, parameters);
      await tx.query('SET LOCAL statement_timeout TO DEFAULT');
      return rows.length > 0;
    } catch (error) {
      throw queryFailure(error);
    }
  }
}
