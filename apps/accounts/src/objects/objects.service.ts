import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, JsonValue, ObjectListQuery, ObjectReadOptions } from '#contracts';
import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import {
  compileCount,
  compileFind,
  grants,
  isFieldName,
  isJsonObject,
  NameTree,
  type ObjectQuery,
  parseOrder,
  parseWhere,
  pickKeys,
} from '#objects';
import { FieldIndexes, SlowQueries } from '#objects/store';
import { ObjectAccess } from './object-access.js';
import { ObjectClasses, type ReadContext, type ReadObject, type StoredClassName } from './object-classes.js';

const CLASS_NAMES: readonly StoredClassName[] = ['_User', '_Role'];
const MAX_PATHS = 10;
const MAX_DEPTH = 3;
/** Includes read objects in batches of this size, and count the bytes of one batch before they read the next. */
const IDS_AT_ONCE = 100;

/** Reads objects of every class. */
@Injectable()
export class ObjectsService {
  constructor(
    private readonly access: ObjectAccess,
    private readonly classes: ObjectClasses,
    private readonly indexes: FieldIndexes,
    private readonly slowQuestions: SlowQueries,
  ) {}

  /**
   * GET of one object.
   * @returns undefined where there is none, or where its ACL hides it. @throws AppError FORBIDDEN by class permission
   */
  async get(
    caller: Caller,
    className: StoredClassName,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    await this.access.assertMay(caller, 'get', className);
    const context = await this.access.contextOf(caller, returnAcl);
    const { appId, grantees } = context.scope;
    const [object] = await this.classes.of(className).objects.findMany(appId, [objectId]);
    if (object === undefined) return undefined;
    if (grantees !== 'master' && !grants(object.acl, 'read', grantees)) return undefined;
    const shown = object.present(context);
    await this.include([shown], include, context);
    return pickKeys(shown, keys);
  }

  /** GET /1.1/users, /1.1/roles and their aliases. @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  async find(
    caller: Caller,
    className: StoredClassName,
    list: ObjectListQuery,
  ): Promise<{ results: JsonObject[]; count?: number }> {
    const context = await this.access.contextOf(caller, list.returnAcl);
    const { scope } = context;
    const queryClass = scope.classOf(className);
    const query: ObjectQuery = {
      where: parseWhere(list.where),
      order: parseOrder(list.order),
      limit: list.limit,
      skip: list.skip,
    };
    const { appId } = caller;
    const indexes = await this.indexes.of(appId, className);
    const find = compileFind(query, queryClass, scope, indexes);
    const { objects } = this.classes.of(className);
    const timed = <T>(work: () => Promise<T>) => this.slowQuestions.timed({ appId, queryClass, query }, work);
    const found = list.limit === 0 ? [] : await timed(() => objects.find(find));
    const results = found.map((object) => object.present(context));
    await this.include(results, list.include, context);
    return {
      results: results.map((object) => pickKeys(object, list.keys)),
      ...(list.count
        ? { count: await timed(() => objects.count(compileCount(query.where, queryClass, scope, indexes))) }
        : {}),
    };
  }

  /**
   * Adds the fields of referenced objects to the Pointers, where the caller may get them.
   * @param objects the results; they are changed
   * @throws AppError OBJECT_TOO_LARGE where the response would exceed the limit of a message
   */
  private async include(
    objects: readonly JsonObject[],
    include: string | undefined,
    context: ReadContext,
  ): Promise<void> {
    await this.includeTree(objects, parseInclude(include), { context, addedBytes: 0 });
  }

  private async includeTree(objects: readonly JsonObject[], tree: NameTree, inclusion: Inclusion): Promise<void> {
    for (const [field, below] of tree) {
      await this.resolve(pointersAt(objects, field), inclusion);
      if (below.size > 0) await this.includeTree(objectsAt(objects, field), below, inclusion);
    }
  }

  private async resolve(spots: readonly PointerSpot[], inclusion: Inclusion): Promise<void> {
    for (const className of CLASS_NAMES.filter((name) => inclusion.context.mayGet(name))) {
      const spotsById = byId(spots.filter((spot) => spot.className === className));
      for (const ids of inBatches([...spotsById.keys()])) {
        const objects = await this.findReadable(className, ids, inclusion.context);
        objects.forEach((object) => {
          fill(spotsById.get(object.objectId) ?? [], object, inclusion);
        });
      }
    }
  }

  private async findReadable(
    className: StoredClassName,
    ids: readonly string[],
    { scope: { appId, grantees } }: ReadContext,
  ): Promise<ReadObject[]> {
    const objects = await this.classes.of(className).objects.findMany(appId, ids);
    return objects.filter(({ acl }) => grantees === 'master' || grants(acl, 'read', grantees));
  }
}

interface Inclusion {
  readonly context: ReadContext;
  /** The bytes that includes have added to this response. */
  addedBytes: number;
}

/** A Pointer within a response to a stored object. `replace` substitutes it. */
interface PointerSpot {
  readonly className: StoredClassName;
  readonly objectId: string;
  readonly replace: (value: JsonObject) => void;
}

/**
 * Parses the parameter `include`: paths of fields, separated by commas. A field that several paths share is included once.
 * @throws AppError INVALID_QUERY, INVALID_KEY_NAME
 */
function parseInclude(include: string | undefined): NameTree {
  const paths = (include ?? '')
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
  const names = paths.map((path) => path.split('.'));
  if (paths.length > MAX_PATHS || names.some(({ length }) => length > MAX_DEPTH)) {
    const message = `include may hold ${MAX_PATHS} paths of ${MAX_DEPTH} names at most.`;
    throw appError('INVALID_QUERY', { message });
  }
  if (!names.flat().every(isFieldName)) throw appError('INVALID_KEY_NAME');
  return NameTree.of(paths);
}

/** The Pointers to stored objects in the named field of the objects, including those in lists. */
function pointersAt(objects: readonly JsonObject[], field: string): PointerSpot[] {
  return objects.flatMap((object) => {
    const value = valueAt(object, field);
    if (Array.isArray(value)) return value.flatMap((item, index) => spotOf(item, (found) => (value[index] = found)));
    return spotOf(value, (found) => (object[field] = found));
  });
}

/** The objects in the named field, through which a path continues. */
function objectsAt(objects: readonly JsonObject[], field: string): JsonObject[] {
  return objects.flatMap((object) => {
    const value = valueAt(object, field);
    return (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  });
}

function valueAt(object: JsonObject, field: string): JsonValue | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

function spotOf(value: JsonValue | undefined, replace: (found: JsonObject) => void): PointerSpot[] {
  if (!isJsonObject(value) || value['__type'] !== 'Pointer') return [];
  const { className, objectId } = value;
  if ((className !== '_User' && className !== '_Role') || typeof objectId !== 'string') return [];
  return [{ className, objectId, replace }];
}

function byId(spots: readonly PointerSpot[]): ReadonlyMap<string, readonly PointerSpot[]> {
  const spotsById = new Map<string, PointerSpot[]>();
  for (const spot of spots) {
    const same = spotsById.get(spot.objectId);
    if (same === undefined) spotsById.set(spot.objectId, [spot]);
    else same.push(spot);
  }
  return spotsById;
}

function inBatches(ids: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(ids.length / IDS_AT_ONCE);
  return Array.from({ length: count }, (_, index) => ids.slice(index * IDS_AT_ONCE, (index + 1) * IDS_AT_ONCE));
}

/** The Pointer keeps its members and gains the fields of its object. @throws AppError OBJECT_TOO_LARGE */
function fill(spots: readonly PointerSpot[], object: ReadObject, inclusion: Inclusion): void {
  const shown = object.present(inclusion.context);
  inclusion.addedBytes += spots.length * Buffer.byteLength(JSON.stringify(shown));
  if (inclusion.addedBytes > MAX_MESSAGE_BYTES) throw appError('OBJECT_TOO_LARGE');
  for (const { className, replace } of spots) replace({ ...shown, __type: 'Pointer', className });
}
