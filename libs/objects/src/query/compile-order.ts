import { sortable } from './compile-column.js';
import { bytewise, type CompileContext, isIndexed, jsonAt } from './compile-context.js';
import { orderByDistance } from './compile-json.js';
import { indexedParts, TYPE_ORDER } from './field-index.js';
import { type FieldPath, invalidQuery, type ObjectQuery, type QueryColumn, type SortKey, targetOf } from './query.js';

/**
 * The order of the rows: as requested, else nearest first for `$nearSphere`, else the class's default. The id breaks ties in the direction
 * of the last key, so that an index serves both directions.
 */
export function compileOrder({ order, where }: ObjectQuery, context: CompileContext): string {
  const { defaultOrderColumn, idColumn } = context.queryClass;
  const asked = order.flatMap((key) => compileSortKey(key, context));
  const implied = asked.length === 0 ? orderByDistance(where, context) : asked;
  const keys = implied.length === 0 ? [`${defaultOrderColumn} ASC`] : implied;
  return [...keys, `${idColumn} ${order.at(-1)?.direction ?? 'ASC'}`].join(', ');
}

function compileSortKey({ field, direction }: SortKey, context: CompileContext): string[] {
  const target = targetOf(field, context.queryClass);
  switch (target.kind) {
    case 'column':
      return [sortByColumn(target.column, direction)];
    case 'json':
      return sortByJson(field, direction, context);
    case 'relation':
      throw invalidQuery(`The field ${field[0]} is a relation and cannot be a sort key.`);
  }
}

/** An unset value sorts first. */
function sortByColumn(column: QueryColumn, direction: SortKey['direction']): string {
  const nulls = direction === 'ASC' ? 'NULLS FIRST' : 'NULLS LAST';
  return `${sortable(column)} ${direction}${column.isNullable === true ? ` ${nulls}` : ''}`;
}

/** Sorts by type, then numbers by value and other types by their text; texts of Dates sort chronologically. */
function sortByJson(path: FieldPath, direction: SortKey['direction'], context: CompileContext): string[] {
  const value = jsonAt(path, context);
  const text = `${bytewise(`(${value} #>> '{}')`)} ${direction}`;
  if (isIndexed(path, context)) {
    const { rank, number, text: beginning } = indexedParts(value);
    return [`${rank} ${direction}`, `${number} ${direction}`, `${beginning} ${direction}`, text];
  }
  const type = `jsonb_typeof(${value})`;
  return [
    `COALESCE(array_position(${TYPE_ORDER}, ${type}), 1) ${direction}`,
    `CASE ${type} WHEN 'number' THEN ${value}::numeric END ${direction}`,
    text,
  ];
}
