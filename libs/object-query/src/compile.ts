import { allOf, anyOf, type CompileContext, not, Statement } from './compile-context.js';
import { compileField } from './compile-field.js';
import { compileOrder } from './compile-order.js';
import { isMemberOf } from './compile-relation.js';
import type { Condition, ObjectQuery, SubQuery } from './query.js';
import type { QueryClass, QueryScope } from './query-class.js';
import { targetOf } from './query-target.js';

export interface CompiledFind {
  readonly where: string;
  readonly orderBy: string;
  /** LIMIT and OFFSET, where the query has them. */
  readonly limit: string;
  readonly parameters: readonly unknown[];
  /** Whether it looks up one value of a unique column, and nothing else: one row at most, by the same plan whatever the value. */
  readonly isLookUp: boolean;
}

export interface CompiledCondition {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * The SQL that finds the rows of a class which match the query, belong to the scope's application and may be read by its grantees.
 * Names of columns are not qualified: the statement has no other table.
 * @throws AppError INVALID_QUERY where the query names what cannot be queried
 */
export function compileFind(query: ObjectQuery, queryClass: QueryClass, scope: QueryScope): CompiledFind {
  const statement = new Statement();
  const compiled = compileQuery(query, contextOf(queryClass, scope, statement));
  return { ...compiled, parameters: statement.parameters, isLookUp: isLookUp(query.where, queryClass) };
}

/** The condition by which `compileFind` finds, alone: for counting. @throws as compileFind */
export function compileCount(where: Condition, queryClass: QueryClass, scope: QueryScope): CompiledCondition {
  const statement = new Statement();
  const sql = compileVisible(where, contextOf(queryClass, scope, statement));
  return { sql, parameters: statement.parameters };
}

/**
 * The condition for a row that the statement has chosen already, as in `SELECT 1 FROM … WHERE object_id = $1 AND <sql>`: neither the
 * application nor the ACL of the row is asked. It may be SQL's NULL, which means no.
 * @param bound parameters that the statement has already; ours follow them
 * @throws as compileFind
 */
export function compileCondition(
  where: Condition,
  queryClass: QueryClass,
  scope: QueryScope,
  bound: readonly unknown[],
): CompiledCondition {
  const statement = new Statement(bound);
  const sql = compileTree(where, contextOf(queryClass, scope, statement));
  return { sql, parameters: statement.parameters };
}

function isLookUp(where: Condition, queryClass: QueryClass): boolean {
  if (where.kind === 'and') {
    const [only, ...others] = where.conditions;
    return only !== undefined && others.length === 0 && isLookUp(only, queryClass);
  }
  if (where.kind !== 'field' || where.test.kind !== 'isAnyOf') return false;
  const target = targetOf(where.field, queryClass);
  const [value, ...others] = where.test.values;
  return (
    target.kind === 'column' && target.column.isUnique === true && typeof value === 'string' && others.length === 0
  );
}

function contextOf(queryClass: QueryClass, scope: QueryScope, statement: Statement): CompileContext {
  return {
    queryClass,
    scope,
    statement,
    select: (query, column) =>
      compileSelect(query, contextOf(scope.classOf(query.className), scope, statement), column),
  };
}

function compileSelect(query: SubQuery, context: CompileContext, column: (within: CompileContext) => string): string {
  const { where, orderBy, limit } = compileQuery(query, context);
  return `SELECT ${column(context)} FROM ${context.queryClass.table} WHERE ${where} ORDER BY ${orderBy} ${limit}`;
}

function compileQuery(query: ObjectQuery, context: CompileContext): Pick<CompiledFind, 'where' | 'orderBy' | 'limit'> {
  const { bind } = context.statement;
  return {
    where: compileVisible(query.where, context),
    orderBy: compileOrder(query, context),
    limit: [
      ...(query.limit === undefined ? [] : [`LIMIT ${bind(query.limit)}`]),
      ...(query.skip === undefined ? [] : [`OFFSET ${bind(query.skip)}`]),
    ].join(' '),
  };
}

function compileVisible(where: Condition, context: CompileContext): string {
  return `${compileReadable(context)} AND ${compileTree(where, context)}`;
}

function compileReadable({ queryClass, scope: { appId, grantees }, statement: { bind } }: CompileContext): string {
  const isOfApp = `${queryClass.appColumn} = ${bind(appId)}`;
  if (grantees === 'master') return isOfApp;
  const grants = grantees.map((grantee) => JSON.stringify({ [grantee]: { read: true } }));
  const { aclColumn } = queryClass;
  return `${isOfApp} AND (${aclColumn} IS NULL OR ${aclColumn} @> ANY (${bind(grants)}::jsonb[]))`;
}

function compileTree(condition: Condition, context: CompileContext): string {
  switch (condition.kind) {
    case 'and':
      return allOf(condition.conditions.map((part) => compileTree(part, context)));
    case 'or':
      return anyOf(condition.conditions.map((part) => compileTree(part, context)));
    case 'not':
      return not(compileTree(condition.condition, context));
    case 'related': {
      const owners = contextOf(context.scope.classOf(condition.object.className), context.scope, context.statement);
      return isMemberOf(condition, owners.queryClass, context, compileReadable(owners));
    }
    case 'field':
      return compileField(condition, context);
  }
}
