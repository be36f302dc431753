import { isObjectId, type JsonObject, type JsonValue, MAX_SAVED_OBJECTS, type ObjectWrite } from '#contracts';
import { type AppError, appError } from '#errors';
import { installationClass, isJsonObject } from '#objects';
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
  const writes = requestsOf(body, MAX_SAVED_OBJECTS).map(parseWrite);
  assertIdsAreClear(writes);
  return writes;
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
  const [path = '', query] = request['path'].split('?', 2);
  const target = targetOf(request['method'], path);
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
  const [, classPath, objectId] = (method === 'PUT' ? OBJECT_PATH.exec(path) : [path, path]) ?? [];
  if (objectId !== undefined && !isObjectId(objectId)) throw appError('NOT_FOUND');
  return { className: classOf(classPath ?? ''), ...(objectId === undefined ? {} : { objectId }) };
}

function classOf(path: string): string {
  const className = CLASS_PATHS.get(path) ?? CLASS_PATH.exec(path)?.[1];
  if (className === undefined) throw appError('NOT_FOUND');
  return className;
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
