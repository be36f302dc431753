import type { Queryable } from '#database';
import { appError } from '#errors';
import { shapeName } from './shape-name.js';

/** Of one query's rows together, custom fields and `authData`: more than an answer may hold, since `keys` can leave most of them out. */
const MAX_BYTES = 32 * 1_024 * 1_024;

/**
 * Runs a query and loads no more of its large columns than one request may cost.
 * @param select the whole statement, in the order wanted
 * @param size SQL for what one of its rows counts, in bytes: its custom fields, unless given
 * @throws AppError OBJECT_TOO_LARGE
 */
export async function listBounded<Row>(
  within: Queryable,
  select: string,
  parameters: readonly unknown[],
  size = 'octet_length(fields::text)',
): Promise<Row[]> {
  const bounded = `SELECT * FROM (
       SELECT found.*, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS "bytesSoFar"
         FROM (SELECT *, ${size} AS bytes FROM (${select}) AS rows) AS found
     ) AS measured WHERE "bytesSoFar" - bytes <= $${parameters.length + 1}`;
  const values = [...parameters, MAX_BYTES];
  const rows = await within.query<Row & { bytesSoFar: string }>(bounded, values, shapeName(bounded));
  if (Number(rows.at(-1)?.bytesSoFar ?? 0) > MAX_BYTES) throw appError('OBJECT_TOO_LARGE');
  return rows;
}
