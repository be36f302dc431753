import { chunksOf, groupedBy } from '#bootstrap';
import type { JsonObject, JsonValue, ObjectListQuery, ObjectReadOptions } from '#contracts';
import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import type { ObjectRow, ObjectView } from '../class-definition.js';
import { compileCount, compileFind } from '../query/compile.js';
import { parseOrder } from '../query/parse-values.js';
import { parseWhere } from '../query/parse.js';
import type { Condition, ObjectQuery } from '../query/query.js';
import { NameTree, pickKeys } from '../stored-object.js';
import { isFieldName, isJsonObject } from '../values.js';
import type { FieldIndexes } from './field-indexes.js';
import type { ObjectAccess } from './object-access.js';
import { MAX_READ_BYTES, tooMuchFound } from './query-database.js';
import type { SlowQueries } from './slow-queries.js';
import type { AccessContext, Requester, StoredClass, StoredClasses } from './stored-classes.js';

const MAX_PATHS = 10;
const MAX_DEPTH = 3;
/** Includes read objects in batches of this size, and count the bytes of one batch before they read the next. */
const IDS_AT_ONCE = 100;

export class ObjectReader {
  constructor(
    private readonly access: ObjectAccess,
    private readonly classes: StoredClasses,
    private readonly indexes: FieldIndexes,
    private readonly slowQueries: SlowQueries,
  ) {}

  async get(
    requester: Requester,
    className: string,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    const stored = this.classes.of(className);
    const context = await this.access.contextOf(requester);
    context.assertMay('get', className);
    const object = await stored.objects.findVisible(requester.appId, objectId);
    if (object === undefined || !context.mayRead(object)) return undefined;
    const reading = { context, returnAcl, addedBytes: 0, readBytes: 0 };
    const shown = present(stored, object, reading);
    await this.#includeTree([shown], parseInclude(include), reading);
    return pickKeys(shown, keys);
  }

  async find(
    requester: Requester,
    className: string,
    list: ObjectListQuery,
  ): Promise<{ results: JsonObject[]; count?: number }> {
    const stored = this.classes.of(className);
    const context = await this.access.contextOf(requester);
    const { scope } = context;
    const queryClass = context.listedClass(className);
    const { limit, skip } = list;
    const query: ObjectQuery = { where: conditionOf(list), order: parseOrder(list.order), limit, skip };
    const { appId } = requester;
    const indexes = await this.indexes.of(appId, className);
    const find = compileFind(query, queryClass, scope, indexes);
    const timed = <T>(work: () => Promise<T>) => this.slowQueries.timed({ appId, queryClass, query }, work);
    const found = limit === 0 ? [] : await timed(() => stored.objects.list(find));
    const reading = { context, returnAcl: list.returnAcl, addedBytes: 0, readBytes: 0 };
    const shown = found.map((object) => present(stored, object, reading));
    await this.#includeTree(shown, parseInclude(list.include), reading);
    const results = shown.map((object) => pickKeys(object, list.keys));
    if (!list.count) return { results };
    const counting = compileCount(query.where, queryClass, scope, indexes);
    return { results, count: await timed(() => stored.objects.count(counting)) };
  }

  /** `include` for objects of another service; they are changed. @throws AppError as `includeTree`, INVALID_QUERY, INVALID_KEY_NAME */
  async include(
    requester: Requester,
    objects: readonly JsonObject[],
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject[]> {
    const context = await this.access.contextOf(requester);
    await this.#includeTree(objects, parseInclude(include), { context, returnAcl, addedBytes: 0, readBytes: 0 });
    return objects.map((object) => pickKeys(object, keys));
  }

  /** Changes the objects. @throws AppError OBJECT_TOO_LARGE where the response would exceed the limit of a message */
  async #includeTree(objects: readonly JsonObject[], tree: NameTree, reading: ReadContext): Promise<void> {
    for (const [field, below] of tree) {
      await this.#resolve(pointersAt(objects, field), reading);
      if (below.size > 0) await this.#includeTree(objectsAt(objects, field), below, reading);
    }
  }

  async #resolve(spots: readonly PointerSpot[], reading: ReadContext): Promise<void> {
    const { context } = reading;
    for (const className of this.classes.names.filter((name) => context.may('get', name))) {
      const stored = this.classes.of(className);
      const ofClass = spots.filter((spot) => spot.className === className);
      const spotsById = new Map(groupedBy(ofClass, ({ objectId }) => objectId));
      for (const ids of chunksOf([...spotsById.keys()], IDS_AT_ONCE)) {
        const objects = await this.#readable(stored, ids, reading);
        objects.forEach((object) => {
          fill(spotsById.get(object.objectId) ?? [], present(stored, object, reading), reading);
        });
      }
    }
  }

  async #readable({ objectClass, objects }: StoredClass, ids: readonly string[], reading: ReadContext) {
    const { context } = reading;
    const queryClass = context.queryClassOf(objectClass.name);
    const query = { where: parseWhere({ objectId: { $in: ids } }), order: [] };
    const found = await objects.listMeasured(compileFind(query, queryClass, context.scope));
    reading.readBytes += found.bytes;
    if (reading.readBytes > MAX_READ_BYTES) throw tooMuchFound();
    return found.objects;
  }
}

interface ReadContext {
  readonly context: AccessContext;
  readonly returnAcl: boolean;
  addedBytes: number;
  readBytes: number;
}

interface PointerSpot {
  readonly className: string;
  readonly objectId: string;
  readonly replace: (value: JsonObject) => void;
}

/** `after` does not count for the limit of conditions. Its first one is a range of an index; the second leaves out the objects of the same millisecond. */
function conditionOf({ where, after }: Pick<ObjectListQuery, 'where' | 'after'>): Condition {
  if (after === undefined) return parseWhere(where);
  const createdAt = { __type: 'Date', iso: after.createdAt };
  const following = [
    { createdAt: { $gte: createdAt } },
    { $or: [{ createdAt: { $gt: createdAt } }, { objectId: { $gt: after.objectId } }] },
  ];
  return { kind: 'and', conditions: [parseWhere(where), parseWhere(following)] };
}

/** Paths, separated by commas; a shared field is included once. @throws AppError INVALID_QUERY, INVALID_KEY_NAME */
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

function pointersAt(objects: readonly JsonObject[], field: string): PointerSpot[] {
  return objects.flatMap((object) => {
    const value = valueAt(object, field);
    if (Array.isArray(value)) return value.flatMap((item, index) => spotOf(item, (found) => (value[index] = found)));
    return spotOf(value, (found) => (object[field] = found));
  });
}

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
  if (typeof className !== 'string' || typeof objectId !== 'string') return [];
  return [{ className, objectId, replace }];
}

/** The Pointer keeps its members and gains the fields of its object. @throws AppError OBJECT_TOO_LARGE */
function fill(spots: readonly PointerSpot[], shown: JsonObject, reading: ReadContext): void {
  reading.addedBytes += spots.length * Buffer.byteLength(JSON.stringify(shown));
  if (reading.addedBytes > MAX_MESSAGE_BYTES) throw tooMuchFound();
  for (const { className, replace } of spots) replace({ ...shown, __type: 'Pointer', className });
}

function present({ objectClass }: StoredClass, object: ObjectRow, { context, returnAcl }: ReadContext): JsonObject {
  const { hideContact } = context;
  return objectClass.present(object, { viewer: viewerOf(objectClass, object, context), hideContact, returnAcl });
}

function viewerOf(
  { definition }: StoredClass['objectClass'],
  { objectId }: ObjectRow,
  { principal }: AccessContext,
): ObjectView['viewer'] {
  if (principal === undefined) return 'master';
  return definition.isPrincipal === true && principal.userId === objectId ? 'owner' : 'other';
}
