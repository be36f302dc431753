import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';

/** The answer to a push. */
export interface AcceptedPush {
  readonly objectId: string;
  readonly createdAt: Date;
}

/** For how long a request with the same id is the same request (the API's rule). */
const MEMORY = `interval '5 minutes'`;

/** Requests for pushes that may be sent again. */
@Injectable()
export class RequestIdsRepository {
  /**
   * Notes the answer to a request. Of requests that come at once the second waits until the first one's transaction is over.
   * @returns the answer that the request got before; undefined where it is the first
   */
  async claim(
    tx: Tx,
    { appId, reqId, objectId, createdAt }: AcceptedPush & { readonly appId: string; readonly reqId: string },
  ): Promise<AcceptedPush | undefined> {
    const claimed = await tx.query(
      `INSERT INTO push.request_ids AS known (app_id, req_id, object_id, created_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT request_ids_pkey DO UPDATE
          SET object_id = EXCLUDED.object_id, created_at = EXCLUDED.created_at
        WHERE known.created_at <= EXCLUDED.created_at - ${MEMORY}
       RETURNING 1`,
      [appId, reqId, objectId, createdAt],
    );
    if (claimed.length > 0) return undefined;
    const [first] = await tx.query<AcceptedPush>(
      `SELECT object_id AS "objectId", created_at AS "createdAt" FROM push.request_ids WHERE app_id = $1 AND req_id = $2`,
      [appId, reqId],
    );
    // Retention may have taken it between the two statements.
    return first;
  }
}
