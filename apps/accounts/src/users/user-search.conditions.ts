import { CONTACT_NAME, MAX_EXACT_TOTAL, type RpcData, type userSearchRpc } from '#contracts';
import { endOfPrefix } from '#database';
import { appError } from '#errors';
import { compileCondition, isStorableText, parseWhere, type QueryClass, roleClass, userClass } from '#objects';

type Search = RpcData<typeof userSearchRpc.search>;
/** A search for `filters.locked` has the ids of the locked users. */
export type UserSearch = Search & { readonly lockedIds?: readonly string[] | undefined };
type Filters = Search['filters'];

/** Beginnings of ids shorter than this are in the ids of many users, so a search in all fields does not compare them. */
const MIN_ID_LENGTH = 8;
const ID = /^[0-9A-Za-z_-]{1,64}$/;
const PHONE = /^\+?[\d\s()-]*\d[\d\s()-]*$/;

function binderOf(parameters: unknown[]): (value: unknown) => string {
  return (value) => `$${parameters.push(value)}`;
}

export function conditionOf(search: UserSearch, comparisons = EXACT): { sql: string; parameters: unknown[] } {
  const { alternatives, common, parameters } = conditionsOf(search, comparisons);
  const either = alternatives.map(({ sql }) => sql).join(' OR ');
  return { sql: [...common, `(${either})`].join(' AND '), parameters };
}

interface Alternative {
  readonly sql: string;
  /** The key of the index that holds the rows of a prefix side by side. */
  readonly key?: string;
}

/** Conditions that all hold, and those of which one holds. $1 is the application. */
interface Conditions {
  readonly common: readonly string[];
  readonly alternatives: readonly Alternative[];
  readonly parameters: unknown[];
}

/** The conditions one by one: a statement for each alternative can read its index alone. */
function conditionsOf(search: UserSearch, comparisons = EXACT): Conditions {
  const bound: unknown[] = [search.appId];
  const bind = binderOf(bound);
  const { text, mode, filters, lockedIds } = search;
  const alternatives =
    text === undefined ? [{ sql: 'TRUE' }] : textConditions(text, search, { bind, compare: comparisons[mode] });
  const common = [
    'app_id = $1',
    ...filterConditions(filters, bind),
    ...[filters.ids, lockedIds].flatMap((ids) => when(ids, (value) => `object_id = ANY (${bind(value)})`)),
  ];
  if (search.where === undefined) return { common, alternatives, parameters: bound };
  const scope = { appId: search.appId, grantees: 'master' as const, classOf };
  const where = compileCondition(parseWhere(search.where), userClass.queryClass(), scope, bound);
  return { common: [...common, where.sql], alternatives, parameters: [...where.parameters] };
}

function classOf(name: string): QueryClass {
  const known = [userClass, roleClass].find((each) => each.name === name);
  if (known !== undefined) return known.queryClass();
  throw appError('INVALID_QUERY', { message: `A condition of users cannot name the class ${name}.` });
}

type Bind = ReturnType<typeof binderOf>;
type Comparison = (expression: string, text: string, bind: Bind) => Alternative;
type Comparisons = Readonly<Record<Search['mode'], Comparison>>;
interface Comparing {
  readonly bind: Bind;
  readonly compare: Comparison;
}

type TextSearch = Pick<Search, 'in' | 'mode' | 'withoutContactNames'>;

function textConditions(text: string, search: TextSearch, { bind, compare }: Comparing): Alternative[] {
  const { in: field, mode } = search;
  if (!isStorableText(text) || (field === 'phone' && !PHONE.test(text))) return [{ sql: 'FALSE' }];
  const isAsked = (name: Search['in'], fits: boolean) => field === name || (field === 'any' && fits);
  // As PostgreSQL's `lower` in the collation "C".
  const lower = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return [
    ...(isAsked('username', true) ? [nameCondition(compare('lower(username)', lower, bind), search)] : []),
    ...(isAsked('email', true) ? [compare('lower(email)', lower, bind)] : []),
    ...(isAsked('phone', PHONE.test(text)) ? phoneConditions(text, mode, { bind, compare }) : []),
    ...(isAsked('id', ID.test(text) && text.length >= MIN_ID_LENGTH) ? [beginsWith('object_id', text, bind)] : []),
  ];
}

/** The index of usernames covers the column: a prefix still reads the index alone. */
function nameCondition(condition: Alternative, { withoutContactNames = false }: TextSearch): Alternative {
  if (!withoutContactNames) return condition;
  return { ...condition, sql: `(${condition.sql} AND username !~ '${CONTACT_NAME.source}')` };
}

/** Numbers are stored as `+` and digits; those without a prefix of their own are Chinese. */
function phoneConditions(text: string, mode: Search['mode'], { bind, compare }: Comparing): Alternative[] {
  const digits = text.replace(/[^\d+]/g, '');
  if (mode === 'contains') return [compare('lower(mobile_phone_number)', digits, bind)];
  const prefixes = digits.startsWith('+') ? [digits] : [`+${digits}`, `+86${digits}`];
  return prefixes.map((prefix) => compare('mobile_phone_number', prefix, bind));
}

/** A range of the index: its columns are in the order of bytes, which is that of code points. */
function beginsWith(key: string, prefix: string, bind: Bind): Alternative {
  const end = endOfPrefix(prefix);
  const from = `${key} >= ${bind(prefix)}`;
  return { sql: end === undefined ? from : `(${from} AND ${key} < ${bind(end)})`, key };
}

const EXACT: Comparisons = {
  prefix: beginsWith,
  contains: (expression, text, bind) => ({ sql: `${expression} LIKE ${bind(`%${patternOf(text)}%`)}` }),
};

/** For estimates: PostgreSQL has statistics of columns, but uses none of expressions in partial indexes. */
export const BY_COLUMN: Comparisons = {
  prefix: (expression, text, bind) => ({ sql: `${columnOf(expression)} ILIKE ${bind(`${patternOf(text)}%`)}` }),
  contains: (expression, text, bind) => ({ sql: `${columnOf(expression)} ILIKE ${bind(`%${patternOf(text)}%`)}` }),
};

function columnOf(expression: string): string {
  return expression.replace(/^lower\((\w+)\)$/, '$1');
}

function patternOf(text: string): string {
  return text.replace(/[\\%_]/g, String.raw`\$&`);
}

function when<T>(value: T | undefined, sql: (value: T) => string): string[] {
  return value === undefined ? [] : [sql(value)];
}

function filterConditions(filters: Filters, bind: Bind): string[] {
  const ofPlatform = 'object_id IN (SELECT user_id FROM accounts.identities WHERE app_id = $1 AND platform =';
  return [
    ...when(filters.emailVerified, (is) => `email_verified IS ${is ? 'TRUE' : 'NOT TRUE'}`),
    ...when(filters.phoneVerified, (is) => `${is ? '' : 'NOT '}mobile_phone_verified`),
    ...when(filters.platform, (platform) => `${ofPlatform} ${bind(platform)})`),
    ...when(filters.hasPassword, (has) => `password_hash IS ${has ? 'NOT ' : ''}NULL`),
    ...when(filters.createdFrom, (from) => `created_at >= ${bind(from)}::timestamptz`),
    ...when(filters.createdTo, (to) => `created_at < ${bind(to)}::timestamptz`),
  ];
}

/** The index of `user_id` has the database's collation, `object_id` has "C": a comparison without COLLATE reads all identities. */
export const COLUMNS = `
  object_id AS "objectId", username, lower(username) AS "lowerUsername", email, email_verified AS "emailVerified",
  mobile_phone_number AS "mobilePhoneNumber", mobile_phone_verified AS "mobilePhoneVerified",
  password_hash IS NOT NULL AS "hasPassword", created_at AS "createdAt", updated_at AS "updatedAt",
  ARRAY(SELECT platform FROM accounts.identities
         WHERE identities.app_id = users.app_id AND identities.user_id = users.object_id COLLATE "default" ORDER BY platform) AS platforms`;

/** The sort keys of each order, and the comparison that the rows behind a place pass. */
export const ORDERS: Readonly<Record<Search['order'], { key: string; direction: string; behind: string }>> = {
  newest: { key: 'created_at', direction: 'DESC', behind: '<' },
  oldest: { key: 'created_at', direction: 'ASC', behind: '>' },
  username: { key: 'lower(username)', direction: 'ASC', behind: '>' },
};

/** The users that match, up to `most` of each alternative: their number and, where they are fewer than `most`, one page of them. */
export function collectStatement(search: UserSearch, most: number): { sql: string; parameters: unknown[] } {
  const { alternatives, common, parameters } = conditionsOf(search);
  const { key, direction, behind } = ORDERS[search.order];
  // To read the index of a prefix twice takes half of the time that it takes to store what was read. Without a bound the rows are stored:
  // PostgreSQL hashes no subquery of NOT IN that it expects to be large, and would run it for each row.
  const isRepeated = isPrefixAlone(search) && most <= MAX_EXACT_TOTAL + 1;
  const stored = isRepeated ? 'NOT MATERIALIZED' : 'MATERIALIZED';
  // A statement for each field reads its index alone, in its order, and stops.
  const found = alternatives.map(({ sql, key: indexed }, place) => {
    const order = indexed === undefined ? '' : `ORDER BY ${indexed}`;
    const conditions = [...common, sql].join(' AND ');
    return `by${place} AS ${stored} (SELECT object_id, ${key} AS key FROM accounts.users WHERE ${conditions} ${order} LIMIT ${most})`;
  });
  // Most texts are in one field, where this costs nothing; UNION would hash every match.
  const distinct = alternatives.map((_, place) => {
    const before = Array.from({ length: place }, (_, other) => `object_id NOT IN (SELECT object_id FROM by${other})`);
    return `SELECT * FROM by${place} WHERE ${['TRUE', ...before].join(' AND ')}`;
  });
  const sql = `WITH ${found.join(', ')},
     matches AS ${stored} (${distinct.join(' UNION ALL ')}),
     counted AS MATERIALIZED (SELECT count(*)::int AS matching FROM matches),
     page AS (
       SELECT object_id AS id, key FROM matches
        WHERE (SELECT matching FROM counted) < ${most} AND ${placeCondition(search, 'key', behind, parameters)}
        ORDER BY key ${direction}, object_id ${direction} LIMIT ${search.limit + 1}
     )
     SELECT counted.matching, found.* FROM counted
       LEFT JOIN (SELECT page.key, ${COLUMNS} FROM page JOIN accounts.users ON app_id = $1 AND object_id = page.id) AS found ON TRUE
      ORDER BY found.key ${direction}, found."objectId" ${direction}`;
  return { sql, parameters };
}

/** The condition that a row is behind the place of the search. Its values are added to the parameters. */
export function placeCondition(
  { after, order }: UserSearch,
  key: string,
  behind: string,
  parameters: unknown[],
): string {
  if (after === undefined) return 'TRUE';
  const bind = binderOf(parameters);
  const type = order === 'username' ? 'text' : 'timestamptz';
  return `(${key}, object_id) ${behind} (${bind(after.key)}::${type}, ${bind(after.objectId)})`;
}

export function isBlank({ text, where, filters }: UserSearch): boolean {
  return text === undefined && where === undefined && Object.values(filters).every((filter) => filter === undefined);
}

export function isPart({ text, mode }: UserSearch): boolean {
  return text !== undefined && mode === 'contains';
}

export function isPrefixAlone({ text, mode, where, filters, lockedIds }: UserSearch): boolean {
  const others = [where, lockedIds, ...Object.values(filters)];
  return text !== undefined && mode === 'prefix' && others.every((each) => each === undefined);
}

export function isSortedPrefix({ text, mode, order }: UserSearch): boolean {
  return text !== undefined && mode === 'prefix' && order === 'username';
}
