import { isObjectId, type JsonObject, type JsonValue, MAX_SAVED_OBJECTS, type ObjectWrite } from '#contracts';
import { type AppError, appError } from '#errors';
import { applyChanges, installationClass, isJsonObject, isOperation, parseChanges } from '#objects';
import { methodOf, queryOf } from '../http/sub-request.js';
import { parseWriteOptions } from '../objects/object.params.js';

const CLASS_PATHS: ReadonlyMap<string, string> = new Map([
  ['/1.1/users', '_User'],
  ['/1.1/roles', '_Role'],
  ['/1.1/installations', '_Installation'],
]);
const CLASS_PATH = /^\/1\.1\/classes\/(_?[A-Za-z][A-Za-z0-9_]{0,127})$/;
const OBJECT_PATH = /^(.*)\/([^/]{1,64})$/;
export const MAX_INTERNAL_ID_LENGTH = 128;

/** @throws AppError MALFORMED_JSON, INVALID_QUERY, or NOT_FOUND where a path names no class; the service refuses an unknown class */
export function parseWrites(body: JsonObject): ObjectWrite[] {
  const writes: ObjectWrite[] = [];
  for (const request of requestsOf(body, MAX_SAVED_OBJECTS)) {
    const write = parseWrite(request);
    if (isAddition(request)) addToNew(writes, write);
    else writes.push(write);
  }
  assertIdsAreClear(writes);
  return writes;
}

/** The SDK for Objective-C sends the operations on a new object as changes without an id, after the request that creates it. */
function isAddition(request: JsonValue): boolean {
  const { method, path } = request as { method: JsonValue; path: string };
  return methodOf(method) === 'PUT' && classAt(pathOf(path)) !== undefined;
}

function addToNew(writes: ObjectWrite[], addition: ObjectWrite): void {
  const { internalId, className } = addition;
  const index = writes.findLastIndex((one) => one.internalId === internalId && one.className === className);
  const created = writes[index];
  if (created === undefined || created.objectId !== undefined) throw appError('NOT_FOUND');
  if (addition.where !== undefined) throw malformed('A change of a new object can have no condition.');
  const fields = Object.entries(addition.fields).map(([name, value]) => [name, joined(created.fields, name, value)]);
  writes[index] = {
    ...created,
    returnNew: created.returnNew || addition.returnNew,
    fields: { ...created.fields, ...(Object.fromEntries(fields) as JsonObject) },
    children: [...created.children, ...addition.children],
  };
}

function joined(fields: JsonObject, name: string, value: JsonValue): JsonValue {
  const former = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (former === undefined) return value;
  if (isOperation(value) && isOperation(former))
    return { __op: 'Batch', ops: [...operationsOf(former), ...operationsOf(value)] };
  const { values } = parseChanges([[name, value]]);
  const result = isOperation(value) ? applyChanges({ [name]: former }, values)[name] : undefined;
  if (result === undefined) throw malformed(`${name}: a new object can get one value only.`);
  return result;
}

function operationsOf(operation: JsonObject): JsonValue[] {
  const { __op: name, ops } = operation;
  return name === 'Batch' && Array.isArray(ops) ? ops : [operation];
}

/** The results by internal id. Several results of one object are merged in their order. */
export function resultsById(results: readonly { internalId: string; result: JsonObject }[]): JsonObject {
  const byId = new Map<string, JsonObject>();
  for (const { internalId, result } of results) byId.set(internalId, { ...byId.get(internalId), ...result });
  return Object.fromEntries(byId);
}

export function requestsOf({ requests }: JsonObject, max: number): JsonValue[] {
  if (!Array.isArray(requests)) throw malformed('A batch needs a list "requests".');
  if (requests.length > max) throw malformed(`A batch can contain at most ${max} requests.`);
  return requests;
}

export function malformed(message: string): AppError {
  return appError('MALFORMED_JSON', { message });
}

function parseWrite(request: JsonValue): ObjectWrite {
  if (!isJsonObject(request)) throw malformed('A request of a batch must be an object.');
  if (typeof request['path'] !== 'string') throw malformed('A request of a batch needs a path.');
  const target = targetOf(request['method'], pathOf(request['path']));
  const [, query] = request['path'].split('?', 2);
  const { __internalId: internalId = target.objectId, __children: children, ...fields } = memberOf(request, 'body');
  if (!isId(internalId))
    throw malformed(`The body of a request needs an "__internalId" of 1 to ${MAX_INTERNAL_ID_LENGTH} characters.`);
  const params = { ...Object.fromEntries(new URLSearchParams(query)), ...queryOf(memberOf(request, 'params')) };
  return {
    ...target,
    ...parseWriteOptions(request['new'] === true ? { ...params, new: 'true' } : params),
    internalId,
    fields,
    children: parseChildren(children ?? []),
  };
}

function memberOf(request: JsonObject, name: 'body' | 'params'): JsonObject {
  const value = request[name] ?? {};
  if (!isJsonObject(value)) throw malformed(`The ${name} of a request must be an object.`);
  return value;
}

function targetOf(named: JsonValue | undefined, path: string): Pick<ObjectWrite, 'className' | 'objectId'> {
  const method = methodOf(named);
  if (method !== 'POST' && method !== 'PUT') throw malformed('The method of a request must be POST or PUT.');
  const className = classAt(path);
  if (className !== undefined) return { className };
  const [, classPath = '', objectId = ''] = (method === 'PUT' ? OBJECT_PATH.exec(path) : undefined) ?? [];
  const classOfObject = classAt(classPath);
  if (classOfObject === undefined || !isObjectId(objectId)) throw appError('NOT_FOUND');
  return { className: classOfObject, objectId };
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

function classAt(path: string): string | undefined {
  return CLASS_PATHS.get(path) ?? CLASS_PATH.exec(path)?.[1];
}

function parseChildren(children: JsonValue): ObjectWrite['children'] {
  if (!Array.isArray(children)) throw malformed('"__children" must be a list.');
  return children.map((child) => {
    const { className, cid, key } = isJsonObject(child) ? child : {};
    if (!isId(className) || !isId(cid) || !isId(key))
      throw malformed('An entry of "__children" needs a className, a cid and a key.');
    return { className, cid, key };
  });
}

// Two objects need different ids, the keys of the response. A registration finds its device by content: iOS SDKs send several of one device.
function assertIdsAreClear(writes: readonly ObjectWrite[]): void {
  const objects = new Map<string, string>();
  for (const { internalId, className, objectId } of writes) {
    if (className === installationClass.name && objectId === undefined) continue;
    const known = objects.get(internalId);
    const object = `${className} ${objectId ?? ''}`;
    if (known !== undefined && (objectId === undefined || known !== object))
      throw malformed('Two objects have the same "__internalId".');
    objects.set(internalId, object);
  }
}

function isId(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_INTERNAL_ID_LENGTH;
}
