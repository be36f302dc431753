import { Injectable } from '@nestjs/common';
import {
  type FoundUser,
  type JsonObject,
  MAX_EXACT_TOTAL,
  type BoundedCount,
  type RpcData,
  type userSearchRpc,
} from '#contracts';
import type { Queryable } from '#database';
import { compileCondition, isStorableText, parseWhere, userClass } from '#objects';
import { QueryDatabase } from '#objects/store';

type Search = RpcData<typeof userSearchRpc.search>;
type Filters = Search['filters'];
/** A search for `filters.locked` has the ids of the locked users. */
export type UserSearch = Search & { readonly lockedIds?: readonly string[] | undefined };
/** A user before its lock is known. */
export type UserMatch = Omit<FoundUser, 'lockedUntil' | 'createdAt' | 'updatedAt'> & {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The lower-case username, by which searches order. */
  readonly lowerUsername: string;
};

/** A page is empty. */
interface NoMatch {
  readonly objectId: null;
}

interface UserMatches {
  /** One more than the limit where another page follows. */
  readonly users: UserMatch[];
  /** Undefined: not counted. */
  readonly total: BoundedCount | undefined;
}

const COLUMNS = `
  object_id AS "objectId", username, lower(username) AS "lowerUsername", email, email_verified AS "emailVerified",
  mobile_phone_number AS "mobilePhoneNumber", mobile_phone_verified AS "mobilePhoneVerified",
  password_hash IS NOT NULL AS "hasPassword", created_at AS "createdAt", updated_at AS "updatedAt",
  ARRAY(SELECT platform FROM accounts.identities
         WHERE identities.app_id = users.app_id AND identities.user_id = users.object_id ORDER BY platform) AS platforms`;

/** Of the custom fields in one page, which are loaded only up to this size. */
const MAX_FIELDS_BYTES = 8 * 1_024 * 1_024;
const FIELDS_OF = `
  SELECT id, fields FROM (
    SELECT id, fields, row_number() OVER in_order AS row, sum(octet_length(fields::text)) OVER in_order AS bytes
      FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, position) JOIN accounts.users ON app_id = $1 AND object_id = id
    WINDOW in_order AS (ORDER BY position)
  ) AS measured WHERE bytes <= ${MAX_FIELDS_BYTES} OR row = 1`;

/** The sort keys of each order, and the comparison that the rows behind a place pass. */
const ORDERS: Readonly<Record<Search['order'], { key: string; direction: string; behind: string }>> = {
  newest: { key: 'created_at', direction: 'DESC', behind: '<' },
  oldest: { key: 'created_at', direction: 'ASC', behind: '>' },
  username: { key: 'lower(username)', direction: 'ASC', behind: '>' },
};

/** An estimate from which on the matches are surely too many for an exact total. */
const FREQUENT = 2 * MAX_EXACT_TOTAL;
/** Users that a search for a frequent text reads, before it uses the index of the text. */
const NEARBY_USERS = 20_000;
/** Beginnings of ids shorter than this are in the ids of many users, so a search in all fields does not compare them. */
const MIN_ID_LENGTH = 8;
const ID = /^[0-9A-Za-z_-]{1,64}$/;
const PHONE = /^\+?[\d\s()-]*\d[\d\s()-]*$/;
const LAST_CODE_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** Searches the users of one application, on the connections for queries with their timeout of 3 seconds (ADR 42). */
@Injectable()
export class UserSearchRepository {
  constructor(private readonly queries: QueryDatabase) {}

  /**
   * One page. Up to 10,000 matches are collected and sorted. More of them are so frequent that the page is read in the order of the search, by
   * the index of that order. For a text that many users share, such as "example.com", an index would first find them all.
   * @throws AppError INVALID_QUERY for a `where` that cannot be compiled, QUERY_TIMED_OUT
   */
  async find(search: UserSearch, within: Queryable = this.queries): Promise<UserMatches> {
    if (isBlank(search)) return { users: await this.walk(search, within), total: undefined };
    const nearby = await this.findNearby(search, within);
    if (nearby !== undefined) return nearby;
    const { users, matching } = await this.collect(search, within);
    if (matching <= MAX_EXACT_TOTAL) return { users, total: { value: matching, isExact: true } };
    return { users: await this.walk(search, within), total: await this.estimate(search) };
  }

  /** The number of users that match, exact up to `cap`. Beyond it PostgreSQL's statistics give an estimate. */
  async count(search: UserSearch, cap = MAX_EXACT_TOTAL, within: Queryable = this.queries): Promise<BoundedCount> {
    const { sql, parameters } = conditionOf(search);
    const from = `SELECT FROM accounts.users WHERE ${sql}`;
    const limited = `SELECT count(*)::int AS count FROM (${from} LIMIT ${cap + 1}) AS matching`;
    const [row] = await within.query<{ count: number }>(limited, parameters);
    const value = row?.count ?? 0;
    return value <= cap ? { value, isExact: true } : this.estimate(search, cap, within);
  }

  /** @param cap the number of users that match at least */
  async estimate(search: UserSearch, cap = MAX_EXACT_TOTAL, within: Queryable = this.queries): Promise<BoundedCount> {
    const { sql, parameters } = conditionOf(search, BY_COLUMN);
    const [row] = await within.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      `EXPLAIN (FORMAT JSON) SELECT FROM accounts.users WHERE ${sql}`,
      parameters,
    );
    return { value: Math.max(cap + 1, row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0), isExact: false };
  }

  /** The custom fields by user id: of as many users, in the order of the ids, as fit into a page. Users that are gone are left out. */
  async fieldsOf(appId: string, ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
    const rows = await this.queries.query<{ id: string; fields: JsonObject }>(FIELDS_OF, [appId, ids]);
    return new Map(rows.map(({ id, fields }) => [id, fields]));
  }

  /** @returns a page with a successor, from the users next to its place; undefined: the text is rare, or there are too few matches nearby */
  private async findNearby(search: UserSearch, within: Queryable): Promise<UserMatches | undefined> {
    if (search.text === undefined) return undefined;
    const total = await this.estimate(search);
    if (total.value < FREQUENT) return undefined;
    const { sql, parameters } = conditionOf(search);
    const { key, direction, behind } = ORDERS[search.order];
    const order = `ORDER BY ${key} ${direction}, object_id ${direction}`;
    const place = isBehind(search, key, behind, parameters);
    const users = await within.query<UserMatch>(
      `SELECT ${COLUMNS}
         FROM (SELECT * FROM accounts.users WHERE app_id = $1 AND ${place} ${order} LIMIT ${NEARBY_USERS}) AS users
        WHERE ${sql} ${order} LIMIT ${search.limit + 1}`,
      parameters,
    );
    return users.length > search.limit ? { users, total } : undefined;
  }

  private async collect(search: UserSearch, within: Queryable): Promise<{ users: UserMatch[]; matching: number }> {
    const { sql, parameters } = conditionOf(search);
    const { key, direction, behind } = ORDERS[search.order];
    const rows = await within.query<(UserMatch | NoMatch) & { readonly matching: number }>(
      `WITH matches AS MATERIALIZED (
         SELECT object_id, ${key} AS key FROM accounts.users WHERE ${sql} LIMIT ${MAX_EXACT_TOTAL + 1}
       ), page AS (
         SELECT object_id AS id, key FROM matches WHERE ${isBehind(search, 'key', behind, parameters)}
          ORDER BY key ${direction}, object_id ${direction} LIMIT ${search.limit + 1}
       )
       SELECT counted.matching, found.* FROM (SELECT count(*)::int AS matching FROM matches) AS counted
         LEFT JOIN (SELECT page.key, ${COLUMNS} FROM page JOIN accounts.users ON app_id = $1 AND object_id = page.id) AS found ON TRUE
        ORDER BY found.key ${direction}, found."objectId" ${direction}`,
      parameters,
    );
    return { users: rows.filter((row) => row.objectId !== null), matching: rows[0]?.matching ?? 0 };
  }

  private walk(search: UserSearch, within: Queryable): Promise<UserMatch[]> {
    const { sql, parameters } = conditionOf(search);
    const { key, direction, behind } = ORDERS[search.order];
    return within.query<UserMatch>(
      `SELECT ${COLUMNS} FROM accounts.users WHERE ${sql} AND ${isBehind(search, key, behind, parameters)}
        ORDER BY ${key} ${direction}, object_id ${direction} LIMIT ${search.limit + 1}`,
      parameters,
    );
  }
}

/** A statement's parameters while its text is made. */
function binderOf(parameters: unknown[]): (value: unknown) => string {
  return (value) => `$${parameters.push(value)}`;
}

/** Whether the search selects all users of the application. */
function isBlank({ text, where, filters }: UserSearch): boolean {
  return text === undefined && where === undefined && Object.values(filters).every((filter) => filter === undefined);
}

function conditionOf(search: UserSearch, comparisons: Comparisons = EXACT): { sql: string; parameters: unknown[] } {
  const bound: unknown[] = [search.appId];
  const bind = binderOf(bound);
  const sql = [
    'app_id = $1',
    ...(search.text === undefined
      ? []
      : [textCondition(search.text, search, { bind, compare: comparisons[search.mode] })]),
    ...filterConditions(search.filters, bind),
    ...[search.filters.ids, search.lockedIds].flatMap((ids) =>
      ids === undefined ? [] : [`object_id = ANY (${bind(ids)})`],
    ),
  ];
  if (search.where === undefined) return { sql: sql.join(' AND '), parameters: bound };
  const queryClass = userClass.queryClass();
  const scope = { appId: search.appId, grantees: 'master' as const, classOf: () => queryClass };
  const where = compileCondition(parseWhere(search.where), queryClass, scope, bound);
  return { sql: [...sql, where.sql].join(' AND '), parameters: [...where.parameters] };
}

function isBehind({ after, order }: UserSearch, key: string, behind: string, parameters: unknown[]): string {
  if (after === undefined) return 'TRUE';
  const bind = binderOf(parameters);
  const type = order === 'username' ? 'text' : 'timestamptz';
  return `(${key}, object_id) ${behind} (${bind(after.key)}::${type}, ${bind(after.objectId)})`;
}

type Bind = ReturnType<typeof binderOf>;
/** The SQL that compares an expression with a text. */
type Comparison = (expression: string, text: string, bind: Bind) => string;
type Comparisons = Readonly<Record<Search['mode'], Comparison>>;
/** How the texts of a statement are bound and compared. */
interface Comparing {
  readonly bind: Bind;
  readonly compare: Comparison;
}

/** The part of a search that names text, field and mode. */
type TextSearch = Pick<Search, 'in' | 'mode'>;

function textCondition(text: string, { in: field, mode }: TextSearch, { bind, compare }: Comparing): string {
  if (!isStorableText(text)) return 'FALSE';
  const isAsked = (name: Search['in'], fits: boolean) => field === name || (field === 'any' && fits);
  const lower = lowerCase(text);
  const conditions = [
    ...(isAsked('username', true) ? [compare('lower(username)', lower, bind)] : []),
    ...(isAsked('email', true) ? [compare('lower(email)', lower, bind)] : []),
    ...(isAsked('phone', PHONE.test(text)) ? phoneConditions(text, mode, { bind, compare }) : []),
    ...(isAsked('id', ID.test(text) && text.length >= MIN_ID_LENGTH) ? [beginsWith('object_id', text, bind)] : []),
  ];
  return `(${conditions.join(' OR ')})`;
}

/** Numbers are stored as `+` and digits; those without a prefix of their own are Chinese. */
function phoneConditions(text: string, mode: Search['mode'], { bind, compare }: Comparing): string[] {
  const digits = text.replace(/[^\d+]/g, '');
  if (mode === 'contains') return [compare('lower(mobile_phone_number)', digits, bind)];
  const prefixes = digits.startsWith('+') ? [digits] : [`+${digits}`, `+86${digits}`];
  return prefixes.map((prefix) => compare('mobile_phone_number', prefix, bind));
}

/** A range of the index: its columns are in the order of bytes, which is that of code points. */
function beginsWith(expression: string, prefix: string, bind: Bind): string {
  const end = endOfPrefix(prefix);
  const from = `${expression} >= ${bind(prefix)}`;
  return end === undefined ? from : `(${from} AND ${expression} < ${bind(end)})`;
}

function contains(expression: string, text: string, bind: Bind): string {
  return `${expression} LIKE ${bind(`%${patternOf(text)}%`)}`;
}

const EXACT: Comparisons = { prefix: beginsWith, contains };

/** For estimates: PostgreSQL has statistics of columns, but uses none of expressions in partial indexes. */
const BY_COLUMN: Comparisons = {
  prefix: (expression, text, bind) => `${columnOf(expression)} ILIKE ${bind(`${patternOf(text)}%`)}`,
  contains: (expression, text, bind) => `${columnOf(expression)} ILIKE ${bind(`%${patternOf(text)}%`)}`,
};

function columnOf(expression: string): string {
  return expression.replace(/^lower\((\w+)\)$/, '$1');
}

function patternOf(text: string): string {
  return text.replace(/[\\%_]/g, String.raw`\$&`);
}

/** The first text behind all texts that begin with the prefix; undefined where there is none. */
function endOfPrefix(prefix: string): string | undefined {
  const codePoints = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  const place = codePoints.findLastIndex((codePoint) => codePoint < LAST_CODE_POINT);
  const last = codePoints[place];
  if (last === undefined) return undefined;
  const next = last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1;
  return String.fromCodePoint(...codePoints.slice(0, place), next);
}

/** As PostgreSQL's `lower` in the collation "C". */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function filterConditions(filters: Filters, bind: Bind): string[] {
  const { emailVerified, phoneVerified, platform, hasPassword, createdFrom, createdTo } = filters;
  return [
    ...(emailVerified === undefined ? [] : [`email_verified IS ${emailVerified ? 'TRUE' : 'NOT TRUE'}`]),
    ...(phoneVerified === undefined ? [] : [`${phoneVerified ? '' : 'NOT '}mobile_phone_verified`]),
    ...(platform === undefined
      ? []
      : [`object_id IN (SELECT user_id FROM accounts.identities WHERE app_id = $1 AND platform = ${bind(platform)})`]),
    ...(hasPassword === undefined ? [] : [`password_hash IS ${hasPassword ? 'NOT ' : ''}NULL`]),
    ...(createdFrom === undefined ? [] : [`created_at >= ${bind(createdFrom)}::timestamptz`]),
    ...(createdTo === undefined ? [] : [`created_at < ${bind(createdTo)}::timestamptz`]),
  ];
}
