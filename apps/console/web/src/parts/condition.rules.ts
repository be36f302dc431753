import { isObject, type Json, listOf, optionalObjectOf } from './typed.rules';

/** Of a field, as the form asks for its value. `list`: of texts. */
export type Kind = 'text' | 'list' | 'number' | 'flag' | 'time';
export type Operator = keyof typeof MEMBERS;
/** Fields of a class that the form offers. Others can be typed. */
export type Fields = Readonly<Record<string, Kind>>;

/** One condition on one field; all rows must hold. */
export interface Row {
  readonly field: string;
  readonly operator: Operator;
  readonly kind: Kind;
  /** The value; for `in` values that commas separate. Times in ISO 8601, flags `true` or `false`. */
  readonly text: string;
}

export interface Condition {
  readonly rows: readonly Row[];
  /** The condition as JSON in place of the rows. */
  readonly json?: string;
}

/** By the operators of the REST API; equality has none. */
const MEMBERS = {
  is: '',
  isNot: '$ne',
  in: '$in',
  startsWith: '$regex',
  greater: '$gt',
  atLeast: '$gte',
  less: '$lt',
  atMost: '$lte',
  exists: '$exists',
  isMissing: '$exists',
} as const;

const PRESENCE = ['exists', 'isMissing'] as const;
const ORDER = ['greater', 'atLeast', 'less', 'atMost'] as const;

/** The operators that the form offers for a kind. */
export const OPERATORS: Readonly<Record<Kind, readonly Operator[]>> = {
  text: ['is', 'isNot', 'in', 'startsWith', ...PRESENCE],
  list: ['is', 'isNot', 'in', ...PRESENCE],
  number: ['is', 'isNot', 'in', ...ORDER, ...PRESENCE],
  flag: ['is', 'isNot', ...PRESENCE],
  time: [...ORDER, ...PRESENCE],
};

const FIELD = /^[A-Za-z]\w*(?:\.\w+)*$/;

export function hasValue({ operator }: Row): boolean {
  return operator !== 'exists' && operator !== 'isMissing';
}

/**
 * The condition as `where` of the REST API; undefined while a row is not complete.
 *
 * @throws SyntaxError for a JSON text that is not an object
 */
export function whereOf({ rows, json }: Condition): Json | undefined {
  return json === undefined ? whereOfRows(rows) : optionalObjectOf(json);
}

/** The condition of a JSON text: rows where they say the same, else the text itself. */
export function conditionOf(json: string, fields: Fields): Condition {
  try {
    const rows = rowsOf(optionalObjectOf(json), fields);
    return rows === undefined ? { rows: [], json } : { rows };
  } catch {
    return { rows: [], json };
  }
}

/** The same condition as JSON, without rows that are not complete. */
export function jsonOf({ rows }: Condition): string {
  const complete = rows.filter((row) => whereOfRows([row]) !== undefined);
  return JSON.stringify(whereOfRows(complete), undefined, 2);
}

/** The row with another field or kind. An operator and a value that do not fit go. */
export function rowWith(row: Row, change: Partial<Row>, fields: Fields): Row {
  const changed = { ...row, ...change };
  const kind = change.kind ?? kindIn(fields, changed.field) ?? changed.kind;
  const [first = 'exists'] = OPERATORS[kind];
  const operator = OPERATORS[kind].includes(changed.operator) ? changed.operator : first;
  return { ...changed, kind, operator, text: kind === row.kind ? changed.text : '' };
}

export function kindIn(fields: Fields, field: string): Kind | undefined {
  return Object.hasOwn(fields, field) ? fields[field] : undefined;
}

function whereOfRows(rows: readonly Row[]): Json | undefined {
  const objects: Json[] = [];
  for (const row of rows) {
    const test = testOf(row);
    if (test === undefined || !FIELD.test(row.field)) return undefined;
    const index = objects.findIndex((each) => isFree(each, row));
    if (index === -1) objects.push({ [row.field]: test });
    else objects[index] = merged(objects[index] ?? {}, row.field, test);
  }
  const [first = {}, ...others] = objects;
  return others.length === 0 ? first : { ...first, $and: others };
}

/** Whether the object can hold the row beside what it says of the same field. */
function isFree(object: Json, { field, operator }: Row): boolean {
  if (!Object.hasOwn(object, field)) return true;
  return operator !== 'is' && isOperators(object[field]) && !(MEMBERS[operator] in object[field]);
}

function merged(object: Json, field: string, test: unknown): Json {
  const before = Object.hasOwn(object, field) ? object[field] : undefined;
  return { ...object, [field]: isOperators(before) && isOperators(test) ? { ...before, ...test } : test };
}

/** The condition of the row for its field; undefined while the value is incomplete. */
function testOf(row: Row): unknown {
  const { operator } = row;
  const operand = operandOf(row);
  return operator === 'is' || operand === undefined ? operand : { [MEMBERS[operator]]: operand };
}

function operandOf({ operator, kind, text }: Row): unknown {
  if (operator === 'exists' || operator === 'isMissing') return operator === 'exists';
  if (operator !== 'in') return operator === 'startsWith' && text !== '' ? patternOf(text) : valueOf(kind, text);
  const values = listOf(text).map((each) => valueOf(kind, each));
  return values.length === 0 || values.includes(undefined) ? undefined : values;
}

function valueOf(kind: Kind, text: string): unknown {
  if (text === '') return undefined;
  if (kind === 'number') return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (kind === 'flag') return text === 'true';
  return kind === 'time' ? { __type: 'Date', iso: text } : text;
}

/** As SDKs write it: quoted by `\Q` and `\E`. */
function patternOf(text: string): string {
  return String.raw`^\Q${text.replaceAll(String.raw`\E`, String.raw`\E\\E\Q`)}\E`;
}

/** Undefined where rows do not say the same. */
function rowsOf(where: Json, fields: Fields): readonly Row[] | undefined {
  const { $and: others = [], ...first } = where;
  if (!Array.isArray(others)) return undefined;
  const rows = [first, ...(others as unknown[])].flatMap((each) => rowsOfObject(each, fields));
  const isOffered = rows.every(({ kind, operator }) => OPERATORS[kind].includes(operator));
  return isOffered && JSON.stringify(whereOfRows(rows)) === JSON.stringify(where) ? rows : undefined;
}

function rowsOfObject(object: unknown, fields: Fields): readonly Row[] {
  if (!isObject(object)) return [];
  return Object.entries(object).flatMap(([field, test]) => {
    const members = isOperators(test) ? Object.entries(test) : [['', test] as const];
    return members.map(([member, operand]) => ({ field, ...readTest(member, operand, kindIn(fields, field)) }));
  });
}

/** A test that no row can say becomes a row that is not complete. */
function readTest(member: string, operand: unknown, known: Kind | undefined): Omit<Row, 'field'> {
  if (member === '$exists')
    return { operator: operand === true ? 'exists' : 'isMissing', kind: known ?? 'text', text: '' };
  if (member === '$regex') return { operator: 'startsWith', kind: 'text', text: prefixOf(operand) };
  if (member === '$in' && Array.isArray(operand)) {
    const values = (operand as unknown[]).map((each) => readValue(each, known));
    return { operator: 'in', kind: values[0]?.kind ?? 'text', text: values.map(({ text }) => text).join(', ') };
  }
  const operator = (Object.keys(MEMBERS) as Operator[]).find((each) => MEMBERS[each] === member);
  return operator === undefined
    ? { operator: 'is', kind: 'text', text: '' }
    : { operator, ...readValue(operand, known) };
}

function readValue(value: unknown, known: Kind | undefined): Pick<Row, 'kind' | 'text'> {
  if (typeof value === 'string') return { kind: known === 'list' ? 'list' : 'text', text: value };
  // The digits of a larger number are lost already.
  if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER)
    return { kind: 'number', text: String(value) };
  if (typeof value === 'boolean') return { kind: 'flag', text: String(value) };
  if (isObject(value) && typeof value['iso'] === 'string') return { kind: 'time', text: value['iso'] };
  return { kind: 'text', text: '' };
}

function prefixOf(pattern: unknown): string {
  const [, quoted = ''] = typeof pattern === 'string' ? (/^\^\\Q([^]*)\\E$/.exec(pattern) ?? []) : [];
  return quoted.replaceAll(String.raw`\E\\E\Q`, String.raw`\E`);
}

function isOperators(value: unknown): value is Json {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}
