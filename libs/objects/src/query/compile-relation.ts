import type { JsonValue } from '#contracts';
import { isJsonObject, type Pointer } from '../values.js';
import { anyOf, type CompileContext, not, type TestCompilers } from './compile-context.js';
import { invalidQuery, type QueryClass, type QueryRelation, type RelatedCondition } from './query.js';

/** The tests for relations: conditions on their members and on their existence. */
export const relationTests: TestCompilers<QueryRelation> = {
  isAnyOf: ({ values }, relation, context) =>
    anyOf([
      isOwner(relation, context, `${relation.memberColumn} = ANY (${bindIds(memberIds(values, relation), context)})`),
      ...(values.includes(null) ? [not(isOwner(relation, context))] : []),
    ]),
  holdsAll: ({ values }, relation, context) => {
    const ids = new Set(memberIds(values, relation));
    if (ids.size === 0 || values.some((value) => !isMember(value, relation))) return 'FALSE';
    const { memberColumn, ownerColumn } = relation;
    const holdsOne = `${memberColumn} = ANY (${bindIds([...ids], context)})`;
    const holdsAll = `GROUP BY ${ownerColumn} HAVING count(DISTINCT ${memberColumn}) = ${context.statement.bind(ids.size)}`;
    return isOwner(relation, context, holdsOne, holdsAll);
  },
  exists: (_, relation, context) => isOwner(relation, context),
  isInQuery: ({ query }, relation, context) => {
    if (query.className !== relation.className)
      throw invalidQuery(`The relation holds objects of the class ${relation.className}.`);
    const ids = context.select(query, ({ queryClass }) => queryClass.idColumn);
    return isOwner(relation, context, `${relation.memberColumn} IN (${ids})`);
  },
  compares: refuse,
  hasSize: refuse,
  matches: refuse,
  isNear: refuse,
  isWithin: refuse,
  isSelected: refuse,
};

/**
 * The condition that a row is a member of another object's relation (`$relatedTo`).
 * @param isReadable the condition that the caller may read the object
 * @throws AppError INVALID_QUERY where the object's class has no such relation to this class
 */
export function isMemberOf(
  { object, key }: RelatedCondition,
  owner: QueryClass,
  { queryClass, scope, statement: { bind } }: CompileContext,
  isReadable: string,
): string {
  const relation = owner.relations.get(key);
  if (relation?.className !== queryClass.className)
    throw invalidQuery(`The class ${owner.className} has no relation ${key} to ${queryClass.className}.`);
  const { table, appColumn, ownerColumn, memberColumn } = relation;
  const isObject = `${isReadable} AND ${owner.idColumn} = ${bind(object.objectId)}`;
  const owners = `SELECT ${owner.idColumn} FROM ${owner.table} WHERE ${isObject}`;
  const isOwned = `${appColumn} = ${bind(scope.appId)} AND ${ownerColumn} IN (${owners})`;
  return `${queryClass.idColumn} IN (SELECT ${memberColumn} FROM ${table} WHERE ${isOwned})`;
}

/** The condition that a row's relation has a member for which the condition is true. */
function isOwner(
  { table, appColumn, ownerColumn }: QueryRelation,
  { queryClass, scope, statement }: CompileContext,
  condition = 'TRUE',
  groups = '',
): string {
  const isOfApp = `${appColumn} = ${statement.bind(scope.appId)}`;
  return `${queryClass.idColumn} IN (SELECT ${ownerColumn} FROM ${table} WHERE ${isOfApp} AND ${condition} ${groups})`;
}

function bindIds(ids: readonly string[], { statement }: CompileContext): string {
  return `${statement.bind(ids)}::text[]`;
}

function memberIds(values: readonly JsonValue[], relation: QueryRelation): string[] {
  return values.filter((value) => isMember(value, relation)).map(({ objectId }) => objectId);
}

/** Values have their canonical form, so an object in the form of a pointer is a pointer. */
function isMember(value: JsonValue, { className }: QueryRelation): value is { [Key in keyof Pointer]: string } {
  return isJsonObject(value) && value['__type'] === 'Pointer' && value['className'] === className;
}

function refuse(): never {
  throw invalidQuery('A relation only supports equality, $ne, $in, $nin, $all, $exists, $inQuery and $notInQuery.');
}
