import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import type { MailLimit } from '../mail.config.js';

/** How much of what an application wants it gets in this window. */
export interface Allowance {
  readonly granted: number;
  /** When the next window begins. */
  readonly until: Date;
}

/** The database's clock tells the window, so that all processes mean the same one. */
const WINDOW_START = 'to_timestamp(floor(extract(epoch FROM now()) / $3) * $3)';

@Injectable()
export class AllowancesRepository {
  /** Counts what an application wants, granted or not: what was too much is asked for again in a later window. */
  async take(tx: Tx, appId: string, wanted: number, { count, seconds }: MailLimit): Promise<Allowance> {
    const [row] = await tx.query<{ used: string; until: Date }>(
      `INSERT INTO mail.allowances AS a (app_id, window_start, used) VALUES ($1, ${WINDOW_START}, $2)
       ON CONFLICT ON CONSTRAINT allowances_pkey DO UPDATE SET used = a.used + EXCLUDED.used
       RETURNING used, window_start + make_interval(secs => $3) AS until`,
      [appId, wanted, seconds],
    );
    if (row === undefined) throw new Error('an allowance was not written');
    const before = Number(row.used) - wanted;
    return { granted: Math.min(wanted, Math.max(0, count - before)), until: row.until };
  }
}
