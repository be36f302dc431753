import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject, parsePointer, parseValue } from '../values.js';
import {
  assertDisjoint,
  type FieldChange,
  inField,
  type Operation,
  type ParsedChanges,
  parsePath,
  type Path,
  type RelationChange,
  type RelationOperation,
} from './change.js';

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

/** Whether the value is an operation rather than a value to set. */
export function isOperation(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, '__op');
}

/** Whether the value is the operation that removes a field. */
export function isDelete(value: JsonValue): boolean {
  return isOperation(value) && value['__op'] === 'Delete';
}

/**
 * Parses the change of one value: an operation, a batch of operations, or the value to set.
 * @param depth number of levels of the field above the value
 * @throws AppError INCORRECT_TYPE, INVALID_RELATION, and as `parseValue`
 */
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

/**
 * Parses the fields of a write, whose names may be paths.
 * @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY for an invalid key; INCORRECT_TYPE, MALFORMED_POINTER, INVALID_RELATION for an
 *   invalid value or operation
 */
export function parseChanges(fields: JsonObject): ParsedChanges {
  const changes = Object.entries(fields).flatMap(([key, value]) => parseField(parsePath(key), value));
  assertDisjoint(Object.keys(fields));
  return {
    values: changes.filter((change) => 'path' in change),
    relations: changes.filter((change) => 'field' in change),
  };
}

function parseField(path: Path, value: JsonValue): (FieldChange | RelationChange)[] {
  const operations = inField(path[0], () => parseOperations(value, path.length - 1));
  return operations.map((operation) =>
    isOfRelation(operation) ? { field: relationOf(path), ...operation } : { path, operation },
  );
}

function isOfRelation(operation: Operation | RelationOperation): operation is RelationOperation {
  return operation.kind === 'addRelation' || operation.kind === 'removeRelation';
}

function relationOf([field, ...members]: Path): string {
  if (members.length > 0)
    throw appError('INCORRECT_TYPE', { message: `${field}: A relation cannot be inside another field.` });
  return field;
}
