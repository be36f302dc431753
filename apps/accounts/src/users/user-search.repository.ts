import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type BoundedCount, type FoundUser, type JsonObject, MAX_EXACT_TOTAL } from '#contracts';
import type { Queryable } from '#database';
import { appError } from '#errors';
import { preparedStatementName, QueryDatabase } from '#objects/store';
import {
  BY_COLUMN,
  collectStatement,
  COLUMNS,
  conditionOf,
  isBlank,
  isPart,
  isPrefixAlone,
  isSortedPrefix,
  ORDERS,
  placeCondition,
  type UserSearch,
} from './user-search.conditions.js';

export type UserMatch = Omit<FoundUser, 'lockedUntil' | 'createdAt' | 'updatedAt'> & {
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly lowerUsername: string;
};

/** The one row of an empty page. */
interface NoMatch {
  readonly objectId: null;
}

interface UserMatches {
  /** One more than the limit where another page follows. */
  readonly users: UserMatch[];
  /** Undefined: not counted. */
  readonly total: BoundedCount | undefined;
}

/** The custom fields of one page are loaded up to this size, those of its first user always. */
const MAX_FIELDS_BYTES = 8 * 1_024 * 1_024;
const FIELDS_OF = `
  SELECT id, fields FROM (
    SELECT id, fields, row_number() OVER in_order AS row, sum(octet_length(fields::text)) OVER in_order AS bytes
      FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, position) JOIN accounts.users ON app_id = $1 AND object_id = id
    WINDOW in_order AS (ORDER BY position)
  ) AS measured WHERE bytes <= ${MAX_FIELDS_BYTES} OR row = 1`;

/** Users that a search for a frequent text reads in its order, before it uses the index of the text. */
const NEARBY_USERS = 20_000;
/** As `NEARBY_USERS`, once more users are known to match than are collected. */
const FAR_USERS = 100_000;
/** From this number of expected matches on, a page is read near its place in the order: to collect all matches takes longer. */
const FREQUENT = { prefix: 20_000, contains: 4_000 };
/** Matches of a part of a text that are collected, counted and sorted. Of more matches, a page is usually found near its place. */
const MAX_COLLECTED_PARTS = 20_000;
/** An application counts as large for this time, even if users are deleted meanwhile. */
const LARGE_MS = 600_000;
/** After this time no further statement begins: its own three seconds would outlast the caller. */
const MAX_ELAPSED_MS = 1_500;

/** Searches the users of one application, on the connections for queries with their timeout of 3 seconds (ADR 42). */
@Injectable()
export class UserSearchRepository {
  /** Ids of large applications: to count their users for each search would take longer than to read a page. */
  readonly #large = new LRUCache<string, true>({ max: 10_000, ttl: LARGE_MS });

  constructor(private readonly queries: QueryDatabase) {}

  /** Collects, counts and sorts up to `maxCollected` matches; reads others in the order of the search. @throws AppError INVALID_QUERY, QUERY_TIMED_OUT */
  async find(search: UserSearch, within: Queryable = this.queries): Promise<UserMatches> {
    if (isBlank(search)) return { users: await this.#walk(search, within), total: undefined };
    const startedAt = performance.now();
    const isQuick = isPrefixAlone(search);
    const quick = isQuick ? await this.#collectIfFew(search, within) : undefined;
    if (quick !== undefined) return quick;
    const planned = search.text === undefined ? 0 : await this.plannedRows(search);
    const frequent = await this.#findFrequent(search, planned, within);
    if (frequent !== undefined) return frequent;
    assertInTime(startedAt);
    const found = isQuick ? undefined : await this.#collectIfFew(search, within);
    if (found !== undefined) return found;
    assertInTime(startedAt);
    const users =
      (await this.#findNearby(search, FAR_USERS, within)) ?? (await this.#findFar(search, startedAt, within));
    return { users, total: { value: Math.max(maxCollected(search) + 1, planned), isExact: false } };
  }

  /** The number of users that match, exact up to `cap`. Beyond it PostgreSQL's statistics give an estimate. */
  async count(search: UserSearch, cap = MAX_EXACT_TOTAL, within: Queryable = this.queries): Promise<BoundedCount> {
    if (isBlank(search) && cap < NEARBY_USERS && (await this.#isLarge(search.appId)))
      return this.#estimate(search, cap);
    const { sql, parameters } = conditionOf(search);
    const from = `SELECT FROM accounts.users WHERE ${sql}`;
    const limited = `SELECT count(*)::int AS count FROM (${from} LIMIT ${cap + 1}) AS matching`;
    const [row] = await within.query<{ count: number }>(limited, parameters);
    const value = row?.count ?? 0;
    return value <= cap ? { value, isExact: true } : this.#estimate(search, cap);
  }

  /** The custom fields by user id, in the order of the ids, as far as they fit into a page. Removed users are left out. */
  async fieldsOf(appId: string, ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
    const rows = await this.queries.query<{ id: string; fields: JsonObject }>(FIELDS_OF, [appId, ids]);
    return new Map(rows.map(({ id, fields }) => [id, fields]));
  }

  /** The number of matches by PostgreSQL's statistics, which know a small application only by the average of all. */
  async plannedRows(search: UserSearch): Promise<number> {
    const { sql, parameters } = conditionOf(search, BY_COLUMN);
    const [row] = await this.queries.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      `EXPLAIN (FORMAT JSON) SELECT FROM accounts.users WHERE ${sql}`,
      parameters,
    );
    return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  }

  async #estimate(search: UserSearch, cap: number): Promise<BoundedCount> {
    return { value: Math.max(cap + 1, await this.plannedRows(search)), isExact: false };
  }

  /** @returns undefined for a text that the statistics do not call frequent, and where too few users next to the place match */
  async #findFrequent(search: UserSearch, planned: number, within: Queryable): Promise<UserMatches | undefined> {
    if (planned < FREQUENT[search.mode] || !(await this.#isLarge(search.appId))) return undefined;
    const users = await this.#findNearby(search, NEARBY_USERS, within);
    // `planned` is more than the number up to which counts are exact.
    return users === undefined ? undefined : { users, total: { value: planned, isExact: false } };
  }

  /** @returns undefined where too few of the `count` users next to the place match, and others follow */
  async #findNearby(search: UserSearch, count: number, within: Queryable): Promise<UserMatch[] | undefined> {
    // The first names of the application are far from those that begin with the text.
    if (isSortedPrefix(search)) return undefined;
    const { sql, parameters } = conditionOf(search);
    const { key, direction, behind } = ORDERS[search.order];
    const place = placeCondition(search, key, behind, parameters);
    // The outer order is known to be that of the subquery only if its key is a column there.
    const users = await within.query<UserMatch>(
      `SELECT ${COLUMNS}
         FROM (SELECT *, ${key} AS key FROM accounts.users WHERE app_id = $1 AND ${place}
                ORDER BY ${key} ${direction}, object_id ${direction} LIMIT ${count}) AS users
        WHERE ${sql} ORDER BY key ${direction}, object_id ${direction} LIMIT ${search.limit + 1}`,
      parameters,
    );
    return users.length > search.limit || !(await this.#hasMore(search, count, within)) ? users : undefined;
  }

  /** Whether an application has, or had within ten minutes, so many users that an estimate may stand for a count. */
  async #isLarge(appId: string): Promise<boolean> {
    if (this.#large.has(appId)) return true;
    const all = { appId, order: 'newest', filters: {}, in: 'any', mode: 'prefix', limit: 1 } as const;
    if (!(await this.#hasMore(all, NEARBY_USERS, this.queries))) return false;
    this.#large.set(appId, true);
    return true;
  }

  async #hasMore(search: UserSearch, count: number, within: Queryable): Promise<boolean> {
    const { key, direction, behind } = ORDERS[search.order];
    const parameters: unknown[] = [search.appId];
    const place = placeCondition(search, key, behind, parameters);
    const rows = await within.query(
      `SELECT FROM accounts.users WHERE app_id = $1 AND ${place}
        ORDER BY ${key} ${direction}, object_id ${direction} OFFSET ${count} LIMIT 1`,
      parameters,
    );
    return rows.length > 0;
  }

  /** A page of frequent matches that are not among the users next to its place: most of them are elsewhere in the order. */
  async #findFar(search: UserSearch, startedAt: number, within: Queryable): Promise<UserMatch[]> {
    assertInTime(startedAt);
    if (search.text === undefined || isPart(search)) return this.#walk(search, within);
    return (await this.#collect(search, Number.MAX_SAFE_INTEGER, within)).users;
  }

  async #collectIfFew(search: UserSearch, within: Queryable): Promise<UserMatches | undefined> {
    const most = maxCollected(search);
    const { users, matching } = await this.#collect(search, most + 1, within);
    return matching > most ? undefined : { users, total: { value: matching, isExact: true } };
  }

  async #collect(
    search: UserSearch,
    most: number,
    within: Queryable,
  ): Promise<{ users: UserMatch[]; matching: number }> {
    const { sql, parameters } = collectStatement(search, most);
    // The plan of a prefix is the same for each text; to make it takes longer than to run it.
    const isPrepared = isPrefixAlone(search) && within === this.queries;
    const rows = await (isPrepared ? this.queries.indexed : within).query<(UserMatch | NoMatch) & { matching: number }>(
      sql,
      parameters,
      isPrepared ? preparedStatementName(sql, true) : undefined,
    );
    return { users: rows.filter((row) => row.objectId !== null), matching: rows[0]?.matching ?? 0 };
  }

  #walk(search: UserSearch, within: Queryable): Promise<UserMatch[]> {
    const { sql, parameters } = conditionOf(search);
    const { key, direction, behind } = ORDERS[search.order];
    return within.query<UserMatch>(
      `SELECT ${COLUMNS} FROM accounts.users WHERE ${sql} AND ${placeCondition(search, key, behind, parameters)}
        ORDER BY ${key} ${direction}, object_id ${direction} LIMIT ${search.limit + 1}`,
      parameters,
    );
  }
}

/** The number of matches that are collected and sorted. Those of a part of a text need each row, those of a prefix mostly its index. */
function maxCollected(search: UserSearch): number {
  return isPart(search) ? MAX_COLLECTED_PARTS : MAX_EXACT_TOTAL;
}

function assertInTime(startedAt: number): void {
  if (performance.now() - startedAt > MAX_ELAPSED_MS) throw appError('QUERY_TIMED_OUT');
}
