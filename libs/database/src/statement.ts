/** A statement with its values. */
export interface Statement {
  /** Under it the statement stays prepared on each connection: it stands for this text alone. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Called once what it did is committed. */
  readonly afterCommit?: () => void;
}

/** By the names of the statements that each was made of. */
const texts = new Map<string, string>();

/**
 * Several writes as one statement: all of them or nothing, in one round trip and without a transaction around them. None sees what
 * the others write, but for foreign keys, which PostgreSQL looks at in the end. It answers with the rows of the last one.
 */
export function together(statements: readonly [Statement, ...Statement[]]): Statement {
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
