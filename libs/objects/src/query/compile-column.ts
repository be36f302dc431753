import type { JsonValue } from '#contracts';
import { dateOf } from '../values.js';
import {
  anyOf,
  bytewise,
  columnAsJson,
  type CompileContext,
  matchText,
  selectedValues,
  type TestCompilers,
} from './compile-context.js';
import { invalidQuery, type QueryColumn } from './query.js';

const SQL_TYPES: Readonly<Record<QueryColumn['type'], string>> = {
  text: 'text',
  boolean: 'boolean',
  date: 'timestamptz',
};

/** The tests for fields with a column. A value of another type equals no value of the column, and is not comparable with it. */
export const columnTests: TestCompilers<QueryColumn> = {
  isAnyOf: ({ values }, column, context) => isAnyOfValues(values, column, context),
  holdsAll: ({ values }, column, context) =>
    new Set(values).size === 1 ? isAnyOfValues(values, column, context) : 'FALSE',
  compares: ({ operator, value }, column, { statement }) => {
    const comparable = columnValue(column, value);
    return comparable === undefined ? 'FALSE' : `${sortable(column)} ${operator} ${statement.bind(comparable)}`;
  },
  exists: (_, { sql }) => `${sql} IS NOT NULL`,
  hasSize: () => 'FALSE',
  matches: (test, { sql, type }, context) => (type === 'text' ? matchText(sql, test, context) : 'FALSE'),
  isNear: () => {
    throw invalidQuery('$nearSphere requires a field that can hold a GeoPoint.');
  },
  isWithin: () => 'FALSE',
  isInQuery: () => {
    throw invalidQuery('$inQuery and $notInQuery require a field that can hold a Pointer.');
  },
  isSelected: (test, column, context) => {
    const values = selectedValues(test, context);
    return column.type === 'text'
      ? `${column.sql} IN (SELECT value #>> '{}' FROM ${values} WHERE jsonb_typeof(value) = 'string')`
      : `${columnAsJson(column)} IN (SELECT value FROM ${values} WHERE value IS NOT NULL)`;
  },
};

/** The column as an expression for ORDER BY and comparisons. */
export function sortable({ sql, type }: QueryColumn): string {
  return type === 'text' ? bytewise(sql) : sql;
}

function isAnyOfValues(values: readonly JsonValue[], column: QueryColumn, { statement }: CompileContext): string {
  const { sql, type } = column;
  const comparable = values.map((value) => columnValue(column, value)).filter((value) => value !== undefined);
  const isNothing = values.includes(null) ? [`${sql} IS NULL`] : [];
  if (comparable.length === 0) return anyOf(isNothing);
  const isValue =
    comparable.length === 1
      ? `${sql} = ${statement.bind(comparable[0])}`
      : `${sql} = ANY (${statement.bind(comparable)}::${SQL_TYPES[type]}[])`;
  return anyOf([isValue, ...isNothing]);
}

/** The value as the column's type; undefined for another type. A date may be a bare ISO string. */
function columnValue({ type, storedForm }: QueryColumn, value: JsonValue): string | boolean | undefined {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? (storedForm?.(value) ?? value) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      return dateOf(value)?.toISOString();
  }
}
