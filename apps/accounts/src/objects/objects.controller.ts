import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { type JsonObject, objectsRpc, type ObjectWrite, type RpcData, type RpcReply } from '#contracts';
import { Database, type Tx } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { newObjectId } from '#objects';
import { ObjectClasses, type PreparedWrite, type StoredClassName } from './object-classes.js';
import { ObjectsService } from './objects.service.js';

type Objects = typeof objectsRpc;

/** Each is hashed before the transaction, within the caller's timeout. */
const MAX_PASSWORDS = 20;

/** The order in which single writes lock too: a role first, then the users who join it. */
const LOCK_ORDER: readonly StoredClassName[] = ['_Role', '_User'];

/** Queries of one class, and joint saves of objects of all classes. */
@Controller()
export class ObjectsController {
  constructor(
    private readonly objects: ObjectsService,
    private readonly classes: ObjectClasses,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  @RpcHandler(objectsRpc.find)
  async find({ caller, className, ...list }: RpcData<Objects['find']>): Promise<RpcReply<Objects['find']>> {
    return this.objects.find(caller, className, list);
  }

  /** POST /1.1/batch/save: all writes or none. @throws AppError of the first write that is refused */
  @RpcHandler(objectsRpc.saveAll)
  async saveAll({ caller, writes }: RpcData<Objects['saveAll']>): Promise<RpcReply<Objects['saveAll']>> {
    assertFewPasswords(writes);
    const identified = writes.map((write) => ({ ...write, id: write.objectId ?? newObjectId(this.clock.now()) }));
    const ids = new Map(identified.map(({ internalId, id }) => [internalId, id]));
    const prepared: { internalId: string; write: PreparedWrite<JsonObject> }[] = [];
    // Sequentially: a hundred passwords at once would displace those of all other callers from the queue.
    for (const write of identified) {
      const fields = { ...write.fields, ...pointersToChildren(write, ids) };
      const ready = await this.classes.of(write.className).prepareWrite(caller, { ...write, fields });
      prepared.push({ internalId: write.internalId, write: ready });
    }
    return this.database.transaction(async (tx) => {
      await this.lock(tx, caller.appId, writes);
      const results: RpcReply<Objects['saveAll']>['results'] = [];
      for (const { internalId, write } of prepared)
        results.push({ internalId, result: { objectId: write.objectId, ...(await write.run(tx)) } });
      return { results };
    });
  }

  /**
   * Locks the objects in one order, independent of the order of the writes: else two saves of the same objects would deadlock
   * until PostgreSQL ends one of them.
   */
  private async lock(tx: Tx, appId: string, writes: readonly ObjectWrite[]): Promise<void> {
    for (const className of LOCK_ORDER) {
      const ids = writes.flatMap((write) => (write.className === className ? (write.objectId ?? []) : []));
      if (ids.length > 0) await this.classes.of(className).objects.lockMany(tx, appId, ids);
    }
  }
}

/** @throws AppError NOT_SUPPORTED */
function assertFewPasswords(writes: readonly ObjectWrite[]): void {
  const count = writes.filter(
    ({ className, fields }) => className === '_User' && Object.hasOwn(fields, 'password'),
  ).length;
  if (count > MAX_PASSWORDS) {
    const message = `A joint save may set ${MAX_PASSWORDS} passwords at most. A batch may set more.`;
    throw appError('NOT_SUPPORTED', { message });
  }
}

/** @throws AppError MALFORMED_POINTER where a child is not an object of the request */
function pointersToChildren({ children }: ObjectWrite, ids: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    children.map(({ key, className, cid }) => {
      const objectId = ids.get(cid);
      if (objectId === undefined)
        throw appError('MALFORMED_POINTER', { message: `${key} points to an object that is not in the request.` });
      return [key, { __type: 'Pointer', className, objectId }];
    }),
  );
}
