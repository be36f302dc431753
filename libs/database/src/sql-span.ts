import type { SpanOptions } from '#observability';

const SHOWN_SQL_LENGTH = 1_000;
const FIRST_WORD = /^\s*(\w+)/;
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN)\s+([a-z_]+\.[a-z_]+)/;

/** A statement as a trace shows it: its text is ours, its values are parameters and stay here. */
export function sqlSpan(sql: string): SpanOptions {
  const operation = FIRST_WORD.exec(sql)?.[1] ?? 'SQL';
  const table = TABLE.exec(sql)?.[1];
  return {
    name: table === undefined ? operation : `${operation} ${table}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.query.text': sql.replace(/\s+/g, ' ').trim().slice(0, SHOWN_SQL_LENGTH),
    },
  };
}
