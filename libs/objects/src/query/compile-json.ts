import type { JsonValue } from '#contracts';
import { isJsonObject } from '../values.js';
import {
  allOf,
  anyOf,
  type CompileContext,
  jsonAt,
  matchText,
  selectedValues,
  type TestCompilers,
} from './compile-context.js';
import { type Condition, type FieldPath, type FieldTestOf, isPlace } from './query.js';

function isNear(test: FieldTestOf<'isNear'>, path: FieldPath, context: CompileContext): string {
  const { minRadians, maxRadians } = test;
  const distance = distanceTo(test, path, context);
  if (minRadians === undefined && maxRadians === undefined) return `${distance} IS NOT NULL`;
  const bind = (radians: number) => `${context.statement.bind(radians)}::float8`;
  if (minRadians === undefined) return `${distance} <= ${bind(maxRadians ?? Math.PI)}`;
  return `${distance} BETWEEN ${bind(minRadians)} AND ${bind(maxRadians ?? Math.PI)}`;
}

/** A box whose west edge is east of its east edge crosses the date line. */
function isWithinBox(
  { southwest, northeast }: FieldTestOf<'isWithin'>,
  path: FieldPath,
  context: CompileContext,
): string {
  const bind = (degrees: number) => `${context.statement.bind(degrees)}::float8`;
  return ofPlace(path, context, ({ latitude, longitude }) => {
    const isWithinHeight = `${latitude} BETWEEN ${bind(southwest.latitude)} AND ${bind(northeast.latitude)}`;
    const [isEast, isWest] = [
      `${longitude} >= ${bind(southwest.longitude)}`,
      `${longitude} <= ${bind(northeast.longitude)}`,
    ];
    const goesOverDateLine = southwest.longitude > northeast.longitude;
    return `${isWithinHeight} AND (${isEast} ${goesOverDateLine ? 'OR' : 'AND'} ${isWest})`;
  });
}

export function orderByDistance(where: Condition, context: CompileContext): string[] {
  const near = findNear(where);
  return near === undefined ? [] : [`${distanceTo(near.test, near.field, context)} ASC`];
}

interface NearCondition {
  readonly field: FieldPath;
  readonly test: FieldTestOf<'isNear'>;
}

function findNear(where: Condition): NearCondition | undefined {
  if (where.kind === 'and') return where.conditions.map(findNear).find((near) => near !== undefined);
  return where.kind === 'field' && where.test.kind === 'isNear' ? { field: where.field, test: where.test } : undefined;
}

/** The haversine formula, in radians. `least` and `greatest` keep rounding errors inside the domain of the functions. */
function distanceTo({ point }: FieldTestOf<'isNear'>, path: FieldPath, context: CompileContext): string {
  const bind = (degrees: number) => `${context.statement.bind(degrees)}::float8`;
  const square = (degrees: string) => `power(sin(radians(${degrees}) / 2), 2)`;
  return ofPlace(path, context, ({ latitude, longitude }) => {
    const toLatitude = bind(point.latitude);
    const byLatitude = square(`${latitude} - ${toLatitude}`);
    const byLongitude = square(`${longitude} - ${bind(point.longitude)}`);
    const haversine = `${byLatitude} + cos(radians(${latitude})) * cos(radians(${toLatitude})) * ${byLongitude}`;
    return `2 * asin(sqrt(least(1, greatest(0, ${haversine}))))`;
  });
}

function ofPlace(
  path: FieldPath,
  context: CompileContext,
  expression: (place: { latitude: string; longitude: string }) => string,
): string {
  const value = jsonAt(path, context);
  const [latitude, longitude] = [`(${value} -> 'latitude')`, `(${value} -> 'longitude')`];
  const isNumber = (json: string) => `jsonb_typeof(${json}) = 'number'`;
  const isPlace = `${value} @> '{"__type": "GeoPoint"}' AND ${isNumber(latitude)} AND ${isNumber(longitude)}`;
  const of = expression({ latitude: `${latitude}::float8`, longitude: `${longitude}::float8` });
  return `CASE WHEN ${isPlace} THEN ${of} END`;
}

/** Maximum number of values of `$all` in the index look-up: any of them may be the selective one. */
const MAX_CONTAINED = 10;

/** A filter also matches inside lists of lists; the API only looks into the outer list. */
const NO_LIST = '@.type() != "array"';

export const jsonTests: TestCompilers<JsonTarget> = {
  isAnyOf: ({ values }, target, context) => isAnyOfValues(values, target, context),
  holdsAll: ({ values }, target, context) => holdsAllValues(values, target, context),
  compares: ({ operator, value }, target, context) => {
    const date = isJsonObject(value) ? value['iso'] : undefined;
    return date === undefined
      ? hasPath(target, `? (${NO_LIST} && @ ${operator} $value)`, context, { value })
      : hasPath(target, `? (${NO_LIST} && @."__type" == "Date" && @."iso" ${operator} $value)`, context, {
          value: date,
        });
  },
  exists: (_, target, context) => hasPath(target, '', context),
  hasSize: ({ size }, target, context) =>
    someItem(
      itemsOf(target, '', context),
      `CASE jsonb_typeof(item) WHEN 'array' THEN jsonb_array_length(item) END = ${context.statement.bind(size)}`,
    ),
  matches: (test, target, context) => matchesPattern(test, target, context),
  isNear: (test, { path }, context) => isNear(test, path, context),
  isWithin: (test, { path }, context) => isWithinBox(test, path, context),
  isInQuery: ({ query }, target, context) => {
    const pointers = `? (${NO_LIST} && @."__type" == "Pointer" && @."className" == $className)`;
    const ids = context.select(query, ({ queryClass }) => queryClass.idColumn);
    return someItem(
      itemsOf(target, pointers, context, { className: query.className }),
      `item ->> 'objectId' IN (${ids})`,
    );
  },
  isSelected: (test, target, context) =>
    someItem(
      candidatesOf(target, context),
      `item IN (SELECT value FROM ${selectedValues(test, context)} WHERE value IS NOT NULL)`,
    ),
};

function isAnyOfValues(values: readonly JsonValue[], target: JsonTarget, context: CompileContext): string {
  const set = values.filter((value) => value !== null);
  return anyOf([
    ...(set.length === 0 ? [] : [isOneOf(set, target, context)]),
    ...(set.length === values.length ? [] : [isNothing(target, context)]),
  ]);
}

/** The comparison has a high estimated cost, so that PostgreSQL prefers the GIN index of the containment where the values are rare. */
function isOneOf(values: readonly JsonValue[], target: JsonTarget, context: CompileContext): string {
  const contains = containsOneOf(values, target, context);
  return allOf([
    ...contains,
    someItem(candidatesOf(target, context), `item = ANY (${bindAll(values, context)}::jsonb[])`),
  ]);
}

/** The indexed condition that is necessary for equality. Empty where the index would need too many look-ups. */
function containsOneOf(values: readonly JsonValue[], target: JsonTarget, context: CompileContext): string[] {
  if (!context.statement.spendDocuments(values.length * documentCount(target))) return [];
  const documents = values.flatMap((value) => documentsOf(target, value));
  return [`${context.queryClass.jsonColumn} @> ANY (${bindAll(documents, context)}::jsonb[])`];
}

function bindAll(values: readonly JsonValue[], { statement }: CompileContext): string {
  return statement.bind(values.map((value) => JSON.stringify(value)));
}

function isNothing(target: JsonTarget, context: CompileContext): string {
  return anyOf([`${hasPath(target, '', context)} IS NOT TRUE`, hasPath(target, '? (@.type() == "null")', context)]);
}

function holdsAllValues(values: readonly JsonValue[], target: JsonTarget, context: CompileContext): string {
  const [first, ...others] = values;
  if (first === undefined) return 'FALSE';
  const holdsFirst = isAnyOfValues([first], target, context);
  if (others.length === 0) return holdsFirst;
  const wanted = `unnest(${bindAll(others, context)}::jsonb[]) AS wanted(value)`;
  const held = `SELECT item FROM ${candidatesOf(target, context)}`;
  return allOf([
    holdsFirst,
    ...others.slice(0, MAX_CONTAINED).flatMap((value) => containsOneOf([value], target, context)),
    `NOT EXISTS (SELECT FROM ${wanted} WHERE value NOT IN (${held}))`,
  ]);
}

/** A text that is the field itself is read without a sub-select, in a third of the time. */
function matchesPattern(test: FieldTestOf<'matches'>, target: JsonTarget, context: CompileContext): string {
  const texts = itemsOf(target, '? (@.type() == "string")', context);
  const someText = someItem(texts, matchText("(item #>> '{}')", test, context));
  if (target.path.length > 1) return someText;
  const value = jsonAt(target.path, context);
  const isMatch = matchText(`(${value} #>> '{}')`, test, context);
  return `CASE jsonb_typeof(${value}) WHEN 'string' THEN ${isMatch} WHEN 'array' THEN ${someText} END`;
}

function hasPath(target: JsonTarget, filter: string, context: CompileContext, variables: Variables = {}): string {
  return `jsonb_path_exists(${pathArguments(target, filter, context, variables)})`;
}

function itemsOf(target: JsonTarget, filter: string, context: CompileContext, variables: Variables = {}): string {
  return `jsonb_path_query(${pathArguments(target, filter, context, variables)}) AS candidate(item)`;
}

function candidatesOf(target: JsonTarget, context: CompileContext): string {
  const [values, items] = ['', '[*]'].map(
    (filter) => `SELECT jsonb_path_query(${pathArguments(target, filter, context, {})})`,
  );
  return `(${values} UNION ALL ${items}) AS candidate(item)`;
}

type Variables = Readonly<Record<string, JsonValue>>;

function pathArguments(
  { base, jsonPath }: JsonTarget,
  filter: string,
  { statement: { bind } }: CompileContext,
  variables: Variables,
): string {
  return `${base()}, ${bind(`${jsonPath}${filter}`)}::jsonpath, ${bind(JSON.stringify(variables))}::jsonb`;
}

function someItem(rows: string, condition: string): string {
  return `EXISTS (SELECT FROM ${rows} WHERE ${condition})`;
}

/** A path into the JSON column: exact up to the last step that can be a list index, then by names and through lists, as the API defines. */
interface JsonTarget {
  readonly path: FieldPath;
  readonly exactSteps: number;
  /** The value at the end of the exact steps. Each call binds parameters, and the statement must use all of them. */
  readonly base: () => string;
  /** The rest as a JSON path. Its names consist of characters without a special meaning. */
  readonly jsonPath: string;
}

export function jsonTarget(path: FieldPath, context: CompileContext): JsonTarget {
  const exactSteps = path.findLastIndex((step, index) => index > 0 && isPlace(step)) + 1;
  const [field, ...steps] = path.slice(0, exactSteps);
  const base = () => (field === undefined ? context.queryClass.jsonColumn : jsonAt([field, ...steps], context));
  const names = path.slice(exactSteps).map((name) => `."${name}"`);
  return { path, exactSteps, base, jsonPath: `lax $${names.join('')}` };
}

function documentCount({ path, exactSteps }: JsonTarget): number {
  const ways = path.map((step, index) => wayCount(step, index, exactSteps));
  return ways.reduce((product, count) => product * count, 2);
}

function wayCount(step: string, index: number, exactSteps: number): number {
  if (index === 0) return 1;
  return index >= exactSteps || isPlace(step) ? 2 : 1;
}

/** All documents that the column can contain (`@>`) where the value is at the path or in lists there: necessary for equality, not sufficient. */
function documentsOf({ path, exactSteps }: JsonTarget, value: JsonValue): JsonValue[] {
  return path.reduceRight<JsonValue[]>(
    (inner, step, index) => {
      const asMember = inner.map((document) => ({ [step]: document }));
      if (index === 0 || (index < exactSteps && !isPlace(step))) return asMember;
      const asItem = index < exactSteps ? inner.map((document) => [document]) : asMember.map((document) => [document]);
      return [...asMember, ...asItem];
    },
    [value, [value]],
  );
}
