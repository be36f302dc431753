import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import type { CompiledCondition, QueryClass } from '#object-query';

/** Questions that are the same for every class. */
@Injectable()
export class ObjectsRepository {
  /** @param condition its first two parameters are the application and the object's id */
  async matches(
    tx: Tx,
    { table, appColumn, idColumn }: QueryClass,
    { sql, parameters }: CompiledCondition,
  ): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 FROM ${table} WHERE ${appColumn} = $1 AND ${idColumn} = $2 AND ${sql}`,
      parameters,
    );
    return rows.length > 0;
  }
}
