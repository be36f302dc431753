import pg from 'pg';

/** A row of a table of ours as text. */
export interface StoredRow {
  /** With its schema. */
  readonly table: string;
  readonly text: string;
}

/** Every row of every table, the outboxes among them. */
export async function storedRows(url: string): Promise<StoredRow[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const all: StoredRow[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`SELECT stored::text AS text FROM ${name} AS stored`);
      all.push(...rows.map(({ text }) => ({ table: name, text })));
    }
    return all;
  } finally {
    await client.end();
  }
}
