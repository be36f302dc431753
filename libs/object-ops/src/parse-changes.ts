import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import type { FieldChange, Operation, ParsedChanges, Path, RelationChange, RelationOperation } from './change.js';
import { inField } from './in-field.js';
import { parseOperations } from './parse-operation.js';
import { assertDisjoint, parsePath } from './path.js';

/**
 * Reads the fields of a write, whose names may be paths.
 * @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY where a key is wrong; INCORRECT_TYPE, MALFORMED_POINTER,
 *   INVALID_RELATION where its value or operation is
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
  if (members.length > 0) throw appError('INCORRECT_TYPE', { message: `${field}: A relation is a field of its own.` });
  return field;
}
