import { type Connection, DatabaseError, type FieldDef, Query, types } from 'pg';

export interface Statement {
  /** The name under which the statement stays prepared on each connection; it must be unique to this text. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly afterCommit?: () => void;
}

const texts = new Map<string, string>();

/** Several writes as one atomic statement (ADR 26): no part sees the writes of another, except foreign keys. Returns the rows of the last part. */
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

/** The id, hidden from the planner: old statistics of an application that grows fast would make it scan all rows for each value. */
export const UNESTIMATED_APP = '(SELECT $1::text)';

interface NamedStatement extends Pick<Statement, 'name' | 'text' | 'values'> {
  /** Of a numbered statement (`numbered`): the number that its reply must repeat. */
  readonly number?: number;
}

/** The columns that `numbered` puts before those of the statement: the number, and whether there is a row. */
const NUMBER_COLUMNS = 2;

export class MismatchedReply extends Error {
  constructor() {
    super('Connection terminated: a reply of PostgreSQL did not belong to its look-up');
  }
}

/** The statement with one parameter more, a number. Its reply repeats the number even where no row is found. */
export function numbered({ text, values }: Pick<Statement, 'text' | 'values'>): string {
  return `SELECT $${values.length + 1}::int AS number, found.*
            FROM (SELECT) AS asked LEFT JOIN (SELECT true AS "isFound", row.* FROM (${text}) AS row) AS found ON true`;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface RowDescription {
  readonly fields: readonly Pick<FieldDef, 'name' | 'dataTypeID'>[];
}
interface DataRow {
  readonly fields: readonly (string | null)[];
}

interface Preparations {
  readonly submittedNamedStatements: Readonly<Record<string, string>>;
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** The part of node-postgres' Query that its types leave out. */
interface Preparing {
  prepare(connection: Connection): void;
}

type Answered = (error: Error | null | undefined, rows: unknown[]) => void;

interface Accepting {
  query(query: PreparedQuery, answered: Answered): unknown;
}

const described = new WeakMap<Connection, Map<string, readonly Column[]>>();
const usual = Query.prototype as unknown as Preparing;

/** From its second run it asks for no description and leaves in one write, which saves a third. PostgreSQL refuses it once its columns change. */
class PreparedQuery extends Query {
  declare readonly name: string;
  declare readonly callback: Answered;
  readonly #rows: unknown[] = [];
  #columns: readonly Column[] | undefined;
  #described: Map<string, readonly Column[]> | undefined;
  #failure: Error | undefined;
  #isAnswered = false;
  readonly #number: string | undefined;

  constructor({ name, text, values, number }: NamedStatement) {
    // node-postgres takes values as the second argument, which its types leave out; a configuration object would be copied.
    super(...([text, number === undefined ? values : [...values, number]] as unknown as [string]));
    Object.assign(this, { name: preparedName(name) });
    this.#number = number === undefined ? undefined : String(number);
  }

  prepare(connection: Connection): void {
    if (isBeingPrepared(this.name, connection)) Object.assign(this, { name: '' });
    else this.#described = describedOn(connection);
    this.#columns = this.#described?.get(this.name);
    if (this.#columns === undefined) usual.prepare.call(this, connection);
    else this.#prepareAgain(connection);
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
    this.#described?.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: DataRow): void {
    try {
      const skipped = this.#number === undefined ? 0 : NUMBER_COLUMNS;
      this.#isAnswered = true;
      if (skipped > 0 && fields[0] !== this.#number) throw new MismatchedReply();
      if (skipped === 0 || fields[1] !== null) this.#rows.push(rowOf(this.#columns ?? [], fields, skipped));
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  handleCommandComplete(): void {
    // A statement that returns no rows is not described at all.
    if (this.#columns === undefined) this.#described?.set(this.name, []);
  }

  handleReadyForQuery(): void {
    if (this.#number !== undefined && !this.#isAnswered) this.#failure ??= new MismatchedReply();
    this.callback(this.#failure ?? null, this.#rows);
  }

  #prepareAgain(connection: Connection): void {
    const parts: Buffer[] = [];
    const gathering = Object.create(connection, {
      stream: { value: { writable: true, write: (part: Buffer) => parts.push(part) } },
      describe: { value: () => undefined },
    }) as Connection;
    usual.prepare.call(this, gathering);
    connection.stream.write(Buffer.concat(parts));
  }
}

export function runPrepared<Row>(runner: object, statement: NamedStatement): Promise<Row[]> {
  const used = preparedName(statement.name);
  return new Promise((resolve, reject) => {
    (runner as Accepting).query(new PreparedQuery(statement), (error, rows) => {
      if (isChangedPlan(error) && used === preparedName(statement.name)) renew(statement.name);
      if (error) reject(error);
      else resolve(rows as Row[]);
    });
  });
}

/** `runPrepared` outside of a transaction: once more where PostgreSQL refuses the plan, of which it then has run nothing. */
export async function runAlone<Row>(runner: object, statement: NamedStatement): Promise<Row[]> {
  try {
    return await runPrepared<Row>(runner, statement);
  } catch (error) {
    if (!isChangedPlan(error)) throw error;
    return runPrepared<Row>(runner, statement);
  }
}

/** How often a migration has changed the columns of a named statement. */
const renewals = new Map<string, number>();

function preparedName(name: string): string {
  const times = renewals.get(name);
  return times === undefined ? name : `${times}:${name}`;
}

/** The next runs prepare the statement anew on each connection, under another name. */
function renew(name: string): void {
  renewals.set(name, (renewals.get(name) ?? 0) + 1);
}

/** Whether PostgreSQL (13 to 18) has refused a prepared statement because a migration has changed its columns. */
export function isChangedPlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** The preparation may fail, and a run behind it as well: this run then prepares the text for itself, without a name. */
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

const ZERO = '0'.charCodeAt(0);

/** A time as PostgreSQL writes it, such as `2026-11-30 15:44:32.125937+08`, three times as fast as the driver's parser, which reads the other forms. */
function parseTime(text: string): Date {
  const zone = text.length - 3;
  const sign = text.charAt(zone);
  const isUsual = text.charAt(4) === '-' && text.charAt(10) === ' ' && (sign === '+' || sign === '-');
  if (!isUsual || text.startsWith('00')) return parseAnyTime(text);
  const two = (place: number) => (text.charCodeAt(place) - ZERO) * 10 + text.charCodeAt(place + 1) - ZERO;
  const hours = two(11) - (sign === '+' ? two(zone + 1) : -two(zone + 1));
  const milliseconds = zone === 19 ? 0 : Number(text.slice(20, zone).slice(0, 3).padEnd(3, '0'));
  return new Date(Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), hours, two(14), two(17), milliseconds));
}

const parseAnyTime = parserOf(types.builtins.TIMESTAMPTZ) as (text: string) => Date;
types.setTypeParser(types.builtins.TIMESTAMPTZ, parseTime);

function parserOf(typeId: FieldDef['dataTypeID']): Column['parse'] {
  return (types.getTypeParser as (typeId: number) => Column['parse'])(typeId);
}

function rowOf(
  columns: readonly Column[],
  texts: readonly (string | null)[],
  skipped: number,
): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  columns.forEach(({ name, parse }, index) => {
    if (index < skipped) return;
    const text = texts[index] ?? null;
    row[name] = text === null ? null : parse(text);
  });
  return row;
}

const LAST_CODE_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The first text behind all texts that begin with the prefix, in the order of bytes; undefined where there is none. */
export function endOfPrefix(prefix: string): string | undefined {
  const codePoints = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  const place = codePoints.findLastIndex((codePoint) => codePoint < LAST_CODE_POINT);
  const last = codePoints[place];
  if (last === undefined) return undefined;
  const next = last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1;
  return String.fromCodePoint(...codePoints.slice(0, place), next);
}
