import { type Connection, Query, types } from 'pg';
import type { Statement } from './statement.js';

type NamedStatement = Pick<Statement, 'name' | 'text' | 'values'>;

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** Of a message of node-postgres, what a query reads. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}
interface DataRow {
  readonly fields: readonly (string | null)[];
}

/** Statements that the connection has been asked to prepare, and those of them that it has prepared. */
interface Preparations {
  readonly submittedNamedStatements: Readonly<Record<string, string>>;
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** The part of node-postgres' Query that its types leave out. */
interface Preparing {
  prepare(connection: Connection): void;
}

type Answered = (error: Error | null | undefined, rows: unknown[]) => void;

/** A pool or a connection, as its types do not describe it: it accepts a query of our own with a callback. */
interface Accepting {
  query(query: PreparedQuery, answered: Answered): unknown;
}

/** By connection: the columns of its prepared statements, by statement name. */
const described = new WeakMap<Connection, Map<string, readonly Column[]>>();
const prepareAsUsual = (Query.prototype as unknown as Preparing).prepare;

/**
 * A named statement. From its second run on a connection it asks for no description of the columns and leaves in one write; both
 * take a third of the processor time of a look-up. The description cannot change: PostgreSQL refuses to run a prepared statement
 * whose columns have changed.
 */
class PreparedQuery extends Query {
  declare readonly name: string;
  declare readonly callback: Answered;
  readonly #rows: unknown[] = [];
  #columns: readonly Column[] | undefined;
  #described: Map<string, readonly Column[]> | undefined;
  #failure: Error | undefined;

  constructor(name: string, text: string, values: readonly unknown[]) {
    // node-postgres takes values as the second argument, which its types leave out; a configuration object would be copied.
    super(...([text, values] as unknown as [string]));
    Object.assign(this, { name });
  }

  /** Called by node-postgres when the connection is ready to send the query. */
  prepare(connection: Connection): void {
    if (isBeingPrepared(this.name, connection)) Object.assign(this, { name: '' });
    else this.#described = describedOn(connection);
    this.#columns = this.#described?.get(this.name);
    if (this.#columns === undefined) prepareAsUsual.call(this, connection);
    else this.#prepareAgain(connection);
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: types.getTypeParser(dataTypeID, 'text') }));
    this.#described?.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: DataRow): void {
    try {
      this.#rows.push(rowOf(this.#columns ?? [], fields));
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  handleCommandComplete(): void {
    // A statement that returns no rows is not described at all.
    if (this.#columns === undefined) this.#described?.set(this.name, []);
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure ?? null, this.#rows);
  }

  /** Sends what node-postgres would send, without the request for a description, as one buffer. */
  #prepareAgain(connection: Connection): void {
    const parts: Buffer[] = [];
    const gathering = Object.create(connection, {
      stream: { value: { writable: true, write: (part: Buffer) => parts.push(part) } },
      describe: { value: () => undefined },
    }) as Connection;
    prepareAsUsual.call(this, gathering);
    connection.stream.write(Buffer.concat(parts));
  }
}

/** Runs a named statement on a pool or on a connection. @throws the error of node-postgres */
export function runPrepared<Row>(runner: object, { name, text, values }: NamedStatement): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    (runner as Accepting).query(new PreparedQuery(name, text, values), (error, rows) => {
      // A pool calls back with undefined where it succeeds.
      if (error) reject(error);
      else resolve(rows as Row[]);
    });
  });
}

/**
 * Whether the preparation of the statement is still unanswered. It may fail, and a run behind it would then fail as well; this run
 * prepares the text for itself, without a name.
 */
function isBeingPrepared(name: string, connection: Connection): boolean {
  const { submittedNamedStatements, parsedStatements } = connection as unknown as Preparations;
  return submittedNamedStatements[name] !== undefined && parsedStatements[name] === undefined;
}

function describedOn(connection: Connection): Map<string, readonly Column[]> {
  const known = described.get(connection);
  if (known !== undefined) return known;
  const created = new Map<string, readonly Column[]>();
  described.set(connection, created);
  return created;
}

function rowOf(columns: readonly Column[], texts: readonly (string | null)[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  columns.forEach(({ name, parse }, index) => {
    const text = texts[index] ?? null;
    row[name] = text === null ? null : parse(text);
  });
  return row;
}
