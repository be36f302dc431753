import { invalidQuery } from './bounds.js';
import type { CompileContext } from './compile-context.js';
import { fieldValue } from './field-index.js';
import type { FieldPath, FieldTestOf } from './query.js';
import type { QueryColumn } from './query-class.js';
import { targetOf } from './query-target.js';

/** Bytewise: neither order nor comparison depends on the language of the database. */
const BYTEWISE = 'COLLATE "C"';
/** Which upper and lower case letters belong together does. */
const BY_LANGUAGE = 'COLLATE pg_catalog."default"';

const JSON_DATE_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** The text as it is compared and ordered. */
export function bytewise(text: string): string {
  return `${text} ${BYTEWISE}`;
}

/** The SQL that searches a text. */
export function matchText(
  text: string,
  { pattern, ignoresCase }: FieldTestOf<'matches'>,
  context: CompileContext,
): string {
  return `${text} ${ignoresCase ? BY_LANGUAGE : BYTEWISE} ~ ${context.statement.bind(pattern)}`;
}

/** The one value at a path of the JSON column; NULL where there is none. It does not look into the items of lists. */
export function jsonAt(path: FieldPath, context: CompileContext): string {
  const {
    queryClass: { jsonColumn },
    statement: { bind },
  } = context;
  const [field, ...steps] = path;
  if (isIndexed(path, context)) return fieldValue(field, context.queryClass);
  return steps.length === 0 ? `(${jsonColumn} -> ${bind(field)}::text)` : `(${jsonColumn} #> ${bind(path)}::text[])`;
}

/** Whether the statement uses an index that knows the field. */
export function isIndexed([field, ...steps]: FieldPath, { index }: CompileContext): boolean {
  return steps.length === 0 && index?.fields.includes(field) === true;
}

/** A column's value in the form in which a custom field would hold it. */
export function columnAsJson({ sql, type }: QueryColumn): string {
  return type === 'date'
    ? `jsonb_build_object('__type', 'Date', 'iso', to_char(${sql} AT TIME ZONE 'UTC', '${JSON_DATE_FORMAT}'))`
    : `to_jsonb(${sql})`;
}

/** The value of any field as JSON; NULL where there is none. @throws AppError INVALID_QUERY where nobody may ask for it */
function jsonValueOf(path: FieldPath, context: CompileContext): string {
  const target = targetOf(path, context.queryClass);
  if (target.kind === 'relation') throw invalidQuery(`The field ${path[0]} is a relation, and has no value.`);
  return target.kind === 'column' ? columnAsJson(target.column) : jsonAt(path, context);
}

/** The values of a field in what a sub-query finds, as the rows of `selected(value)`; NULLs are among them. */
export function selectedValues({ query, key }: FieldTestOf<'isSelected'>, { select }: CompileContext): string {
  return `(${select(query, (within) => jsonValueOf(key, within))}) AS selected(value)`;
}
