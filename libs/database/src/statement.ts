/** A statement with its values. */
export interface Statement {
  /** The name under which the statement stays prepared on each connection; it must be unique to this text. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Called once the statement's changes are committed. */
  readonly afterCommit?: () => void;
}

/** By the names of the combined statements. */
const texts = new Map<string, string>();

/**
 * Combines several writes into one statement: atomic, in one round trip and without an explicit transaction. No part sees the writes of
 * another, except for foreign keys, which PostgreSQL checks at the end. Returns the rows of the last part.
 */
export function combineStatements(statements: readonly [Statement, ...Statement[]]): Statement {
  if (statements.length === 1) return statements[0];
  const name = statements.map((statement) => statement.name).join('+');
  const text = texts.get(name) ?? combined(statements);
  texts.set(name, text);
  return {
    name,
    text,
    values: statements.flatMap(({ values }) => values),
    afterCommit: () => {
      for (const { afterCommit } of statements) afterCommit?.();
    },
  };
}

function combined(statements: readonly Statement[]): string {
  let first = 0;
  const parts = statements.map(({ text, values }) => {
    const before = first;
    first += values.length;
    return text.replaceAll(/\$(\d+)/g, (_, position: string) => `$${before + Number(position)}`);
  });
  const [last = '', ...others] = parts.toReversed();
  const named = others.toReversed().map((part, index) => `part${index} AS (${part})`);
  return `WITH ${named.join(', ')} ${last}`;
}

/**
 * The first parameter of a statement that looks values up in an application whose rows are growing fast, as during an import. The planner does not see
 * the id: with outdated statistics it would expect no row of the application, and scan all of them for each value.
 */
export const UNESTIMATED_APP = '(SELECT $1::text)';
