import type { Clock } from '#bootstrap';
import type { JsonObject, JsonValue, ObjectWriteOptions } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import type { FieldDefinitions, ObjectChanges, ObjectRow } from '../class-definition.js';
import { newRow, type ObjectClass } from '../object-class.js';
import { applyChanges } from '../operations/apply-changes.js';
import { assertObjectSize, newObjectId, readOnlyKey, touched } from '../stored-object.js';
import type { ObjectAccess } from './object-access.js';
import type { LockedObject, ObjectRepository } from './object.repository.js';
import type { CreateOptions, ObjectWrites, PreparedWrite, RemovalAccess, Requester } from './stored-classes.js';

interface WriterParts<Row extends ObjectRow> {
  readonly objectClass: ObjectClass<FieldDefinitions, Row>;
  readonly objects: ObjectRepository<Row>;
  readonly access: ObjectAccess;
  readonly clock: Clock;
  readonly limitBytes: number;
}

/** Writes the objects of a class whose rules are its definition: class permissions and ACLs decide which callers may write. */
export class ObjectWriter<Row extends ObjectRow = ObjectRow> implements ObjectWrites {
  constructor(private readonly parts: WriterParts<Row>) {}

  async prepareCreate(
    requester: Requester,
    fields: JsonObject,
    { objectId, returnNew }: CreateOptions,
  ): Promise<PreparedWrite> {
    const { access, clock, objectClass, objects, limitBytes } = this.parts;
    const { changes } = objectClass.parseNew(fields, requester.isMaster);
    await access.assertMay(requester, 'create', objectClass.name);
    const now = clock.now();
    const row = changed(newRow(objectClass, objectId ?? newObjectId(now), now), changes);
    return {
      objectId: row.objectId,
      uniqueValues: objectClass.uniqueValuesOf(changes),
      run: async (tx) => {
        assertObjectSize(row.fields, limitBytes);
        await objects.insert(tx, requester.appId, row);
        await objects.changeMembers(tx, requester.appId, row.objectId, changes.members ?? []);
        return { objectId: row.objectId, isNew: true, result: objectClass.createReply(row, returnNew) };
      },
    };
  }

  async prepareUpdate(
    requester: Requester,
    objectId: string,
    fields: JsonObject,
    { where, returnNew }: ObjectWriteOptions,
  ): Promise<PreparedWrite> {
    const { access, clock, objectClass, objects, limitBytes } = this.parts;
    const changes = objectClass.parse(fields, requester.isMaster);
    const context = await access.contextOf(requester);
    context.assertMay('update', objectClass.name);
    const condition = context.conditionOf(objectClass.name, where);
    return {
      objectId,
      run: async (tx) => {
        const current = await this.#lockOne(tx, requester.appId, { objectId });
        context.assertMayWrite(current);
        await condition.assertMet(tx, current);
        this.#assertImmutable(current, changes);
        const row = { ...changed(current, changes), ...touched(current, clock.now()) };
        assertObjectSize(row.fields, limitBytes);
        await objects.update(tx, requester.appId, row);
        await objects.changeMembers(tx, requester.appId, objectId, changes.members ?? []);
        const isShown = returnNew && context.mayGet(objectClass.name, row);
        return { objectId, isNew: false, result: objectClass.changeReply(row, fields, isShown) };
      },
    };
  }

  prepareRemove({ appId }: Requester, objectId: string, { context, condition }: RemovalAccess): PreparedWrite<void> {
    const rowLock = 'UPDATE';
    return {
      objectId,
      rowLock,
      run: async (tx) => {
        const current = await this.#lockOne(tx, appId, { objectId, rowLock });
        context.assertMayWrite(current);
        await condition.assertMet(tx, current);
        await this.parts.objects.remove(tx, appId, [objectId]);
      },
    };
  }

  async lock(tx: Tx, appId: string, writes: readonly PreparedWrite<unknown>[]): Promise<void> {
    if (writes.length > 1) await this.parts.objects.lockMany(tx, appId, writes);
  }

  async #lockOne(tx: Tx, appId: string, { objectId, rowLock }: LockedObject): Promise<Row> {
    const row = await this.parts.objects.lock(tx, appId, objectId, rowLock);
    if (row === undefined) throw appError('NOT_FOUND');
    return row;
  }

  #assertImmutable(current: Row, changes: ObjectChanges): void {
    const stored = { ...current } as Readonly<Record<string, unknown>>;
    const wanted: Readonly<Record<string, unknown>> = { ...changes };
    for (const [name, { isImmutable }] of Object.entries(this.parts.objectClass.definition.fields))
      if (isImmutable === true && Object.hasOwn(wanted, name) && wanted[name] !== stored[name]) throw readOnlyKey(name);
  }
}

function changed<Row extends ObjectRow>(
  row: Row,
  { custom, members: _, acl, ...columns }: ObjectChanges & Record<string, unknown>,
): Row {
  return {
    ...row,
    ...(columns as Record<string, JsonValue>),
    acl: acl === undefined ? row.acl : acl,
    fields: applyChanges(row.fields, custom),
  };
}
