import type { Queryable } from '#database';
import { appError } from '#errors';

/** Custom fields of one query's rows together, as JSON: more than an answer may hold, since `keys` can leave most of them out. */
const MAX_BYTES = 32 * 1_024 * 1_024;

/**
 * Runs a query whose rows have custom fields in `fields`, and loads no more of them than one request may cost.
 * @param select the whole statement, in the order wanted
 * @throws AppError OBJECT_TOO_LARGE
 */
export async function listBounded<Row>(
  within: Queryable,
  select: string,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const rows = await within.query<Row & { bytesSoFar: string }>(
    `SELECT * FROM (
       SELECT found.*, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS "bytesSoFar"
         FROM (SELECT *, octet_length(fields::text) AS bytes FROM (${select}) AS rows) AS found
     ) AS measured WHERE "bytesSoFar" - bytes <= $${parameters.length + 1}`,
    [...parameters, MAX_BYTES],
  );
  if (Number(rows.at(-1)?.bytesSoFar ?? 0) > MAX_BYTES) throw appError('OBJECT_TOO_LARGE');
  return rows;
}
