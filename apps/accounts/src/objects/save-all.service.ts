import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Caller, JsonObject, ObjectWrite } from '#contracts';
import { Database } from '#database';
import { appError } from '#errors';
import { newObjectId } from '#objects';
import { RolesService } from '../roles/roles.service.js';
import { SignUpService } from '../users/sign-up.service.js';
import { UpdateUserService } from '../users/update-user.service.js';
import { ObjectLocksRepository } from './object-locks.repository.js';
import type { PreparedWrite } from './prepared-write.js';

/** Each is hashed before the transaction, within the time that the caller waits. */
const MAX_PASSWORDS = 20;

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** A write whose object has an id, new or not. */
interface IdentifiedWrite extends ObjectWrite {
  readonly id: string;
}

/** POST /1.1/batch/save: all writes or none. */
@Injectable()
export class SaveAllService {
  constructor(
    private readonly signUps: SignUpService,
    private readonly userUpdates: UpdateUserService,
    private readonly roles: RolesService,
    private readonly locks: ObjectLocksRepository,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError the first write's that cannot be done */
  async saveAll(caller: Caller, writes: readonly ObjectWrite[]): Promise<SavedObject[]> {
    assertFewPasswords(writes);
    const identified = writes.map((write) => ({ ...write, id: write.objectId ?? newObjectId(this.clock.now()) }));
    const ids = new Map(identified.map(({ internalId, id }) => [internalId, id]));
    const prepared: { internalId: string; write: PreparedWrite<JsonObject> }[] = [];
    // One after the other: a hundred passwords at once would push those of everybody else out of the queue.
    for (const write of identified) {
      const fields = { ...write.fields, ...pointersToChildren(write, ids) };
      prepared.push({ internalId: write.internalId, write: await this.prepare(caller, { ...write, fields }) });
    }
    return this.database.transaction(async (tx) => {
      await this.locks.lock(tx, caller.appId, writes);
      const saved: SavedObject[] = [];
      for (const { internalId, write } of prepared)
        saved.push({ internalId, result: { objectId: write.objectId, ...(await write.run(tx)) } });
      return saved;
    });
  }

  private prepare(caller: Caller, write: IdentifiedWrite): Promise<PreparedWrite<JsonObject>> {
    const { className, id, objectId, fields } = write;
    if (className === '_User') {
      return objectId === undefined
        ? this.signUps.prepare(caller, fields, { objectId: id })
        : this.userUpdates.prepare(caller, id, fields, write);
    }
    return objectId === undefined
      ? this.roles.prepareCreate(caller, fields, { id, returnNew: write.returnNew })
      : this.roles.prepareUpdate(caller, id, fields, write);
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

/** @throws AppError MALFORMED_POINTER where a child is none of the request's objects */
function pointersToChildren({ children }: ObjectWrite, ids: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    children.map(({ key, className, cid }) => {
      const objectId = ids.get(cid);
      if (objectId === undefined)
        throw appError('MALFORMED_POINTER', { message: `There is no object ${key} points to.` });
      return [key, { __type: 'Pointer', className, objectId }];
    }),
  );
}
