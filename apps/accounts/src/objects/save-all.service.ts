import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Caller, JsonObject, ObjectWrite } from '#contracts';
import { Database, type Tx } from '#database';
import { appError } from '#errors';
import { newObjectId } from '#objects';
import { ObjectClasses, type PreparedWrite, type StoredClassName } from './object-classes.js';

/** Each is hashed before the transaction, within the caller's timeout. */
const MAX_PASSWORDS = 20;

/** The order in which single writes lock too: a role first, then the users who join it. */
const LOCK_ORDER: readonly StoredClassName[] = ['_Role', '_User'];

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** POST /1.1/batch/save: all writes or none. */
@Injectable()
export class SaveAllService {
  constructor(
    private readonly classes: ObjectClasses,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError of the first write that is refused */
  async saveAll(caller: Caller, writes: readonly ObjectWrite[]): Promise<SavedObject[]> {
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
      const saved: SavedObject[] = [];
      for (const { internalId, write } of prepared)
        saved.push({ internalId, result: { objectId: write.objectId, ...(await write.run(tx)) } });
      return saved;
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
