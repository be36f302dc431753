import { isFieldName } from '#object-values';
import type { QueryClass } from './query-class.js';

/** An index that an operator has made: of custom fields of one application, in their order. */
export interface FieldIndex {
  readonly fields: readonly string[];
}

/** How values of different types come after each other; what is unset comes with null. */
export const TYPE_ORDER = `ARRAY['null', 'number', 'string', 'object', 'array', 'boolean']`;

/** How many characters of a text stand in an index. Three fields of them stay below what PostgreSQL lets into one entry (2,704 bytes). */
const INDEXED_CHARACTERS = 100;
/** Ids of applications are made of these, and names of fields that can be indexed. */
const PLAIN = /^[0-9A-Za-z_-]{1,128}$/;

/** The parts by which values of a field are indexed: their type, what they are as numbers, and the beginning of their text. None is NULL. */
interface IndexedParts {
  readonly rank: string;
  readonly number: string;
  readonly text: string;
}

/** @param value SQL of a JSON value; NULL counts as null */
export function indexedParts(value: string): IndexedParts {
  const type = `jsonb_typeof(${value})`;
  const text = indexedText(`(${value} #>> '{}')`);
  return {
    rank: `COALESCE(array_position(${TYPE_ORDER}, ${type}), 1)`,
    number: `CASE ${type} WHEN 'number' THEN ${value}::numeric ELSE 0 END`,
    text: `(CASE ${type} WHEN 'number' THEN '' ELSE COALESCE(${text}, '') END COLLATE "C")`,
  };
}

/** As much of a text as stands in an index. */
export function indexedText(text: string): string {
  return `left(${text}, ${INDEXED_CHARACTERS})`;
}

/** The rank of a type of JSON among `indexedParts`. */
export const RANKS = { number: 2, string: 3, object: 4, array: 5, boolean: 6 } as const;

/** A field's value, its name written out: an index is only used where the statement says the same. @throws Error unless it is a field's name */
export function fieldValue(field: string, { jsonColumn }: QueryClass): string {
  if (!isFieldName(field)) throw new Error('only a field can be indexed');
  return `(${jsonColumn} -> ${plainLiteral(field)}::text)`;
}

/** The condition that a row is the application's, its id written out: PostgreSQL must see that the index has all such rows. */
export function isOfApplication(appId: string, { appColumn }: QueryClass): string {
  return `${appColumn} = ${plainLiteral(appId)}`;
}

/** What follows `CREATE INDEX … ON <table>`: the rows of one application, by the fields, then in the class's order. */
export function fieldIndexDefinition({ fields }: FieldIndex, appId: string, queryClass: QueryClass): string {
  const keys = fields.flatMap((field) => {
    const { rank, number, text } = indexedParts(fieldValue(field, queryClass));
    return [`(${rank})`, `(${number})`, text];
  });
  const { defaultOrderColumn, idColumn } = queryClass;
  const columns = [...keys, defaultOrderColumn, idColumn].join(', ');
  return `(${columns}) WHERE ${isOfApplication(appId, queryClass)}`;
}

/** Text that means nothing in SQL, as a literal. Anything else is refused rather than escaped. */
function plainLiteral(text: string): string {
  if (!PLAIN.test(text)) throw new Error('an index names applications and fields of letters, digits, _ and - only');
  return `'${text}'`;
}
