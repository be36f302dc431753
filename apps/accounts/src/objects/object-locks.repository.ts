import { Injectable } from '@nestjs/common';
import type { ObjectWrite } from '#contracts';
import type { Tx } from '#database';

/** In the order in which single writes lock them too: a role first, then users who join it. */
const TABLES = { _Role: 'accounts.roles', _User: 'accounts.users' } as const;

/** Locks that a save of several objects needs. */
@Injectable()
export class ObjectLocksRepository {
  /**
   * Keeps others from changing the objects until the transaction ends. In one order, whatever that of the writes: else two
   * saves of the same objects would wait for each other until PostgreSQL ends one of them, and others for both.
   */
  async lock(tx: Tx, appId: string, writes: readonly ObjectWrite[]): Promise<void> {
    for (const [className, table] of Object.entries(TABLES)) {
      const ids = writes.flatMap((write) => (write.className === className ? (write.objectId ?? []) : []));
      const sql = `SELECT FROM ${table} WHERE app_id = $1 AND object_id = ANY($2) ORDER BY object_id FOR UPDATE`;
      if (ids.length > 0) await tx.query(sql, [appId, ids]);
    }
  }
}
