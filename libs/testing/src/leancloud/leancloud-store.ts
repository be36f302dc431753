import { createHash, randomBytes } from 'node:crypto';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

export type Row = Record<string, unknown> & { objectId: string; createdAt: string; updatedAt: string };
type Columns = Record<string, { type: string; className?: string }>;

/** How often LeanCloud applies SHA-512 to salt and password, the first time included. */
const HASH_ROUNDS = 513;
const BASE_COLUMNS: Columns = {
  objectId: { type: 'String' },
  createdAt: { type: 'Date' },
  updatedAt: { type: 'Date' },
  ACL: { type: 'ACL' },
};
const HIDDEN_COLUMNS = ['password', 'salt', 'sessionToken'];

/** A query that LeanCloud refuses, with its error code. */
export class QueryError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

/**
 * The hash of a password as LeanCloud stores it: base64 of SHA-512 over salt and password, then 512 times over the raw 64 bytes.
 * Source: LeanCloud's guide of the console, on the encryption of exported users.
 */
export function leanCloudHash(salt: string, password: string): string {
  let digest = Buffer.from(salt + password, 'utf8');
  for (let round = 0; round < HASH_ROUNDS; round += 1) digest = createHash('sha512').update(digest).digest();
  return digest.toString('base64');
}

/** The rows of an application as LeanCloud keeps them. */
export class LeanCloudStore {
  readonly classes = new Map<string, Map<string, Row>>();
  /** Class permissions besides `find`, by class. Exports of the schema have them; the stand-in itself applies none. */
  readonly permissions = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #columns = new Map<string, Columns>();
  readonly #relations = new Map<string, Set<string>>();
  #lastId = 0;

  constructor() {
    for (const name of ['_User', '_Role', '_Installation', '_File']) this.define(name);
    this.define('_Role', {
      users: { type: 'Relation', className: '_User' },
      roles: { type: 'Relation', className: '_Role' },
    });
  }

  /** Adds a class, or columns to it. */
  define(name: string, columns: Columns = {}): void {
    this.#columns.set(name, { ...BASE_COLUMNS, ...this.#columns.get(name), ...columns });
    if (!this.classes.has(name)) this.classes.set(name, new Map());
  }

  get schemas(): Record<string, Columns> {
    return Object.fromEntries(this.#columns);
  }

  /** Adds a row, or replaces the one with its id. */
  put(className: string, fields: Record<string, unknown>, at = new Date()): Row {
    if (!this.classes.has(className)) this.define(className);
    const time = at.toISOString();
    const old =
      typeof fields['objectId'] === 'string' ? this.classes.get(className)?.get(fields['objectId']) : undefined;
    const row = { createdAt: time, updatedAt: time, objectId: this.#newId(), ...old, ...fields };
    if (old !== undefined && fields['updatedAt'] === undefined) row.updatedAt = time;
    this.classes.get(className)?.set(row.objectId, row);
    return row;
  }

  /** Adds a user with a password, stored as LeanCloud does. */
  putUser(username: string, password: string | undefined, fields: Record<string, unknown> = {}): Row {
    const salt = randomBytes(24).toString('hex');
    const secrets = password === undefined ? {} : { salt, password: leanCloudHash(salt, password) };
    const sessionToken = randomBytes(13).toString('hex').slice(0, 25);
    const given = { emailVerified: false, mobilePhoneVerified: false, ACL: { '*': { read: true, write: true } } };
    return this.put('_User', { ...given, username, sessionToken, ...secrets, ...fields });
  }

  /** Adds members to a relation. */
  relate(className: string, objectId: string, field: string, members: readonly string[]): void {
    const key = `${className} ${objectId} ${field}`;
    const known = this.#relations.get(key) ?? new Set();
    for (const member of members) known.add(member);
    this.#relations.set(key, known);
  }

  unrelate(className: string, objectId: string, field: string, member: string): void {
    this.#relations.get(`${className} ${objectId} ${field}`)?.delete(member);
  }

  /** The rows that fit a condition, by object id. @throws QueryError */
  find(className: string, where: Record<string, unknown>): Row[] {
    const rows = this.classes.get(className);
    if (rows === undefined) throw new QueryError(101, `Class or object doesn't exists.`, 404);
    const { $relatedTo: related, ...conditions } = where;
    const members = related === undefined ? undefined : this.#membersOf(related);
    return [...rows.values()]
      .filter((row) => members === undefined || members.has(row.objectId))
      .filter((row) => Object.entries(conditions).every(([field, condition]) => fits(row[field], condition)))
      .sort((one, other) => (one.objectId < other.objectId ? -1 : 1));
  }

  #membersOf(related: unknown): ReadonlySet<string> {
    const { object, key } = related as {
      object?: { __type?: string; className?: string; objectId?: string };
      key?: string;
    };
    if (object?.__type !== 'Pointer' || key === undefined) throw new QueryError(102, 'invalid $relatedTo');
    return this.#relations.get(`${object.className ?? ''} ${object.objectId ?? ''} ${key}`) ?? new Set();
  }

  #newId(): string {
    this.#lastId += 1;
    return (0x5c710c95n * 0x10000000000000000n + BigInt(this.#lastId)).toString(16);
  }
}

/** A row as the API shows it: without what only exports have. */
export function shown(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([field]) => !HIDDEN_COLUMNS.includes(field)));
}

function fits(value: unknown, condition: unknown): boolean {
  if (typeof condition !== 'object' || condition === null) return value === condition;
  const operators = Object.entries(condition).filter(([name]) => name.startsWith('$'));
  if (operators.length === 0) return JSON.stringify(value) === JSON.stringify(condition);
  return operators.every(([name, operand]) => compares(name, textOf(value), textOf(operand)));
}

/** A date and its ISO text compare alike. */
function textOf(value: unknown): string {
  const date = value as { __type?: string; iso?: string } | null;
  return typeof value === 'object' && date?.__type === 'Date' ? (date.iso ?? '') : String(value);
}

function compares(operator: string, value: string, operand: string): boolean {
  if (operator === '$gt') return value > operand;
  if (operator === '$gte') return value >= operand;
  if (operator === '$lt') return value < operand;
  if (operator === '$lte') return value <= operand;
  if (operator === '$ne') return value !== operand;
  throw new QueryError(102, `unsupported operator ${operator}`);
}

/** The parameters of an export. */
export interface ExportRequest {
  readonly from_date?: string;
  readonly to_date?: string;
  readonly classes?: string;
  readonly 'only-schema'?: string;
}

/** The archive of an export. @param lacking columns of `_User` that it does not have */
export async function archiveOf(
  store: LeanCloudStore,
  request: ExportRequest,
  lacking: readonly string[],
): Promise<Buffer> {
  const archive = pack();
  const classes = request.classes?.split(',') ?? [...store.classes.keys()];
  if (request['only-schema'] === 'true')
    for (const name of classes) {
      archive.entry({ name: `${name}_schema.json` }, JSON.stringify({ schema: store.schemas[name] }));
      archive.entry(
        { name: `${name}_permissions.json` },
        JSON.stringify({ permissions: { find: { '*': name !== '_User' }, ...store.permissions.get(name) } }),
      );
    }
  else
    for (const name of classes) {
      const rows = exported(store, name, request);
      // LeanCloud's exports have no file for an empty class.
      if (rows.length > 0) archive.entry({ name: `${name}.0.jsonl` }, dataFile(name, rows, lacking));
    }
  archive.finalize();
  const chunks = await archive.pipe(createGzip()).toArray();
  return Buffer.concat(chunks as Buffer[]);
}

function exported(store: LeanCloudStore, name: string, { from_date: from, to_date: to }: ExportRequest): Row[] {
  return [...(store.classes.get(name)?.values() ?? [])].filter(
    ({ updatedAt }) => (from === undefined || updatedAt >= from) && (to === undefined || updatedAt.slice(0, 10) <= to),
  );
}

function dataFile(name: string, rows: readonly Row[], lacking: readonly string[]): string {
  const lines = rows.map((row) =>
    JSON.stringify(
      name === '_User' ? Object.fromEntries(Object.entries(row).filter(([field]) => !lacking.includes(field))) : row,
    ),
  );
  return `#filetype:JSON-streaming ${JSON.stringify({ type: 'Class', class: name })}\n${lines.join('\n')}\n`;
}
