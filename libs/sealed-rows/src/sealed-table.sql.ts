import type { SealedTable } from './sealed-table.js';

/** The first column of a key is `k0`, the first value `v0`, its new text `s0` and the hash of its secret `h0`. */
const named = (prefix: string, list: readonly string[]) => list.map((sql, index) => `${sql} AS ${prefix}${index}`);
const columnsOf = ({ key }: SealedTable) => Object.keys(key).map((column) => `t.${column}`);
const keyTypes = ({ key }: SealedTable) => Object.values(key).map((type, index) => `k${index} ${type}`);
const isWanted = (table: SealedTable) =>
  columnsOf(table)
    .map((column, index) => `${column} = wanted.k${index}`)
    .join(' AND ');

/** Keys of a page, and which secrets its values were sealed with. Parameters: the limit, then the key that the page comes after. */
export function pageSql(table: SealedTable, isFirst: boolean): string {
  const columns = columnsOf(table);
  const after = Object.values(table.key).map((type, index) => `$${index + 2}::${type}`);
  return `
    SELECT ${named(
      'k',
      columns.map((column) => `${column}::text`),
    ).join(', ')}, ${named(
      'v',
      table.values.map(({ sql }) => `split_part(${sql}, '.', 2)`),
    ).join(', ')}
      FROM ${table.table} AS t ${isFirst ? '' : `WHERE (${columns.join(', ')}) > (${after.join(', ')})`}
     ORDER BY ${columns.join(', ')} LIMIT $1`;
}

/** The rows with the keys in a JSON array, but those that somebody else has locked. */
export function lockSql(table: SealedTable): string {
  const also = Object.entries(table.also ?? {}).map(([name, sql]) => `${sql} AS "${name}"`);
  const keys = Object.keys(table.key).map((column) => `t.${column}::text AS "${column}"`);
  const values = named(
    'v',
    table.values.map(({ sql }) => sql),
  );
  return `
    SELECT ${[...keys, ...also, ...values].join(', ')}
      FROM ${table.table} AS t JOIN jsonb_to_recordset($1::jsonb) AS wanted (${keyTypes(table).join(', ')}) ON ${isWanted(table)}
       FOR UPDATE OF t SKIP LOCKED`;
}

/** Writes the new texts and hashes in a JSON array. What it does not name stays. */
export function updateSql(table: SealedTable): string {
  const assignments = table.values.flatMap(({ column, set, hashColumn }, index) => [
    `${column} = CASE WHEN wanted.s${index} IS NULL THEN t.${column} ELSE ${set?.(`wanted.s${index}`) ?? `wanted.s${index}`} END`,
    ...(hashColumn === undefined ? [] : [`${hashColumn} = COALESCE(decode(wanted.h${index}, 'hex'), t.${hashColumn})`]),
  ]);
  const texts = table.values.flatMap((_, index) => [`s${index} text`, `h${index} text`]);
  return `
    UPDATE ${table.table} AS t SET ${assignments.join(', ')}
      FROM jsonb_to_recordset($1::jsonb) AS wanted (${[...keyTypes(table), ...texts].join(', ')})
     WHERE ${isWanted(table)}`;
}
