import type { JsonObject, JsonValue } from '#contracts';
import { AppError, appError } from '#errors';
import {
  assertNestedKey,
  invalidFieldName,
  isFieldName,
  isJsonObject,
  parsePointer,
  parseValue,
  type Pointer,
} from '../values.js';

const MAX_LEVELS = 8;
/** Members that mark a value as typed or as an operation cannot be changed separately. */
const MARKS = new Set(['__type', '__op']);

/** Parses a key such as `color` or `address.city`. @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY */
export function parsePath(key: string): Path {
  const [field = '', ...members] = key.split('.', MAX_LEVELS + 1);
  if (!isFieldName(field)) throw invalidFieldName(key);
  if (members.length >= MAX_LEVELS) throw invalidKey(`A key may have at most ${MAX_LEVELS} levels.`);
  for (const member of members) assertMember(member, key);
  return [field, ...members];
}

export function changedRoots(fields: JsonObject): string[] {
  return [...new Set(Object.keys(fields).map(rootOf))];
}

/** The order of two such changes would be undefined. @throws AppError INVALID_KEY_NAME where one key is inside another */
export function assertDisjoint(keys: readonly string[]): void {
  const parts = keys.filter((key) => key.includes('.'));
  if (parts.length === 0) return;
  const named = new Set(keys);
  const part = parts.find((key) => wholesOf(key).some((whole) => named.has(whole)));
  if (part !== undefined) throw invalidKey(`One request cannot change both a value and a part of it: ${rootOf(part)}.`);
}

function wholesOf(key: string): string[] {
  const names = key.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

export function rootOf(key: string): string {
  return key.split('.', 1)[0] ?? key;
}

function assertMember(member: string, key: string): void {
  if (member === '' || MARKS.has(member)) throw invalidFieldName(key);
  assertNestedKey(member);
}

function invalidKey(message: string): AppError {
  return appError('INVALID_KEY_NAME', { message });
}

export type Operation =
  | { readonly kind: 'set'; readonly value: JsonValue }
  | { readonly kind: 'delete' }
  | { readonly kind: 'increment'; readonly amount: number; readonly atLeast?: number }
  | { readonly kind: 'add' | 'addUnique' | 'remove'; readonly objects: readonly JsonValue[] }
  | { readonly kind: 'bits'; readonly operator: BitOperator; readonly value: number };

export type BitOperator = 'and' | 'or' | 'xor';

export type Path = readonly [field: string, ...members: string[]];

/** One change of a document. Several changes of one path are applied in order. */
export interface FieldChange {
  readonly path: Path;
  readonly operation: Operation;
}

export interface RelationChange {
  readonly field: string;
  readonly kind: 'addRelation' | 'removeRelation';
  readonly objects: readonly Pointer[];
}

export type RelationOperation = Omit<RelationChange, 'field'>;

export interface ParsedChanges {
  readonly values: FieldChange[];
  readonly relations: RelationChange[];
}

/** A text that is identical for equal values, independent of the order of their members. */
export function canonicalText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${canonicalText(item)}`);
  return `{${members.sort().join(',')}}`;
}

const NAMELESS_ERRORS: ReadonlySet<string> = new Set(['INCORRECT_TYPE', 'INVALID_NESTED_KEY', 'MALFORMED_POINTER']);

/** Adds the field's name to an error without one. */
export function inField<T>(field: string, decide: () => T): T {
  try {
    return decide();
  } catch (error) {
    if (!(error instanceof AppError) || !NAMELESS_ERRORS.has(error.errorName)) throw error;
    throw new AppError(error.errorName, { message: `${field}: ${error.message}`, cause: error });
  }
}

const MAX_BATCH_LENGTH = 10;
const MAX_RELATED_OBJECTS = 1_000;

type AnyOperation = Operation | RelationOperation;
/** `depth` is the depth, within its field, of the value that the operation changes. */
type OperationParser = (operation: JsonObject, depth: number) => AnyOperation;

const parsers = new Map<JsonValue | undefined, OperationParser>([
  ['Delete', () => ({ kind: 'delete' })],
  ['Increment', ({ amount }) => ({ kind: 'increment', amount: parseAmount(amount) })],
  ['Decrement', ({ amount }) => ({ kind: 'increment', amount: -parseAmount(amount) })],
  ['Add', ({ objects }, depth) => ({ kind: 'add', objects: parseObjects(objects, depth) })],
  ['AddUnique', ({ objects }, depth) => ({ kind: 'addUnique', objects: parseObjects(objects, depth) })],
  ['Remove', ({ objects }, depth) => ({ kind: 'remove', objects: parseObjects(objects, depth) })],
  ['BitAnd', ({ value }) => ({ kind: 'bits', operator: 'and', value: parseBits(value) })],
  ['BitOr', ({ value }) => ({ kind: 'bits', operator: 'or', value: parseBits(value) })],
  ['BitXor', ({ value }) => ({ kind: 'bits', operator: 'xor', value: parseBits(value) })],
  ['AddRelation', ({ objects }) => ({ kind: 'addRelation', objects: parseRelated(objects) })],
  ['RemoveRelation', ({ objects }) => ({ kind: 'removeRelation', objects: parseRelated(objects) })],
]);

export function isOperation(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, '__op');
}

export function isDelete(value: JsonValue): boolean {
  return isOperation(value) && value['__op'] === 'Delete';
}

/** @param depth number of levels of the field above the value. @throws AppError INCORRECT_TYPE, INVALID_RELATION, as `parseValue` */
function parseOperations(value: JsonValue, depth: number): AnyOperation[] {
  if (!isOperation(value)) return [{ kind: 'set', value: parseValue(value, depth) }];
  if (value['__op'] !== 'Batch') return [parseOperation(value, depth)];
  return parseBatch(value).map((operation) => parseOperation(operation, depth));
}

function parseOperation(operation: JsonObject, depth: number): AnyOperation {
  const parse = parsers.get(operation['__op']);
  if (parse === undefined) throw incorrect('Unknown operation.');
  return parse(operation, depth);
}

function parseBatch({ ops }: JsonObject): JsonObject[] {
  if (!Array.isArray(ops) || ops.length === 0 || ops.length > MAX_BATCH_LENGTH)
    throw incorrect(`A Batch needs 1 to ${MAX_BATCH_LENGTH} operations in ops.`);
  if (!ops.every(isOperation) || ops.some(({ __op: name }) => name === 'Batch'))
    throw incorrect('A Batch cannot contain plain values or another Batch.');
  return ops;
}

function parseAmount(amount: JsonValue | undefined): number {
  if (typeof amount !== 'number' || !Number.isFinite(amount))
    throw incorrect('Increment and Decrement need a number as amount.');
  return amount;
}

function parseBits(value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw incorrect('BitAnd, BitOr and BitXor need an integer as value.');
  return value;
}

function parseObjects(objects: JsonValue | undefined, depth: number): JsonValue[] {
  if (!Array.isArray(objects)) throw incorrect('Add, AddUnique and Remove need a list as objects.');
  return objects.map((item) => parseValue(item, depth + 1));
}

function parseRelated(objects: JsonValue | undefined): RelationOperation['objects'] {
  if (!Array.isArray(objects) || objects.length === 0 || objects.length > MAX_RELATED_OBJECTS)
    throw appError('INVALID_RELATION', {
      message: `AddRelation and RemoveRelation need a list of 1 to ${MAX_RELATED_OBJECTS} pointers as objects.`,
    });
  return objects.map(parsePointer);
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

export function parseChanges(fields: readonly (readonly [key: string, value: JsonValue])[]): ParsedChanges {
  const parsed: ParsedChanges = { values: [], relations: [] };
  for (const [key, value] of fields) parseField(parsePath(key), value, parsed);
  assertDisjoint(fields.map(([key]) => key));
  return parsed;
}

function parseField(path: Path, value: JsonValue, { values, relations }: ParsedChanges): void {
  for (const operation of inField(path[0], () => parseOperations(value, path.length - 1))) {
    if (isOfRelation(operation)) relations.push({ field: relationOf(path), ...operation });
    else values.push({ path, operation });
  }
}

function isOfRelation(operation: Operation | RelationOperation): operation is RelationOperation {
  return operation.kind === 'addRelation' || operation.kind === 'removeRelation';
}

function relationOf([field, ...members]: Path): string {
  if (members.length > 0)
    throw appError('INCORRECT_TYPE', { message: `${field}: A relation cannot be inside another field.` });
  return field;
}
