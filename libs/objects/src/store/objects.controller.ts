import { Controller, Inject, Injectable, type Type } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { JsonObject, ObjectsRpc, ObjectWrite, RpcData, RpcReply } from '#contracts';
import { Database, type Tx } from '#database';
import { appError } from '#errors';
import { listReply, type MaybeEncoded, RpcHandler } from '#messaging';
import { inLockOrder, newObjectId } from '../stored-object.js';
import { ObjectAccess } from './object-access.js';
import { ObjectReader } from './object-reader.js';
import { type PreparedWrite, type Requester, StoredClasses, type WriteResult } from './stored-classes.js';

type Data<Name extends keyof ObjectsRpc> = RpcData<ObjectsRpc[Name]>;
type Reply<Name extends keyof ObjectsRpc> = Promise<RpcReply<ObjectsRpc[Name]>>;

export const OBJECTS_DATABASE = Symbol('ObjectsDatabase');

/** A write of a joint save, whose object has an id where another object may refer to it. */
interface IdentifiedWrite extends ObjectWrite {
  readonly id: string;
}

/** The reads and writes of objects that the gateway requests. A joint save or removal does all of it or nothing. */
@Injectable()
export class ObjectRequests {
  constructor(
    private readonly reader: ObjectReader,
    private readonly access: ObjectAccess,
    private readonly classes: StoredClasses,
    private readonly clock: Clock,
    @Inject(OBJECTS_DATABASE) private readonly database: Database,
  ) {}

  async create({ className, fields, returnNew, ...sender }: Data<'create'>): Promise<WriteResult> {
    const requester = requesterOf(sender);
    const { writes } = this.classes.of(className);
    const prepared = await writes.prepareCreate(requester, fields, { returnNew });
    return this.#runOne(requester.appId, className, prepared);
  }

  async get({ caller, principal, className, objectId, ...options }: Data<'get'>): Reply<'get'> {
    const object = await this.reader.get(requesterOf({ caller, principal }), className, objectId, options);
    return { object: object ?? null };
  }

  async find({ caller, principal, className, ...list }: Data<'find'>): Promise<MaybeEncoded<ObjectsRpc['find']>> {
    return listReply(await this.reader.find(requesterOf({ caller, principal }), className, list));
  }

  async update({ caller, principal, className, objectId, changes, ...options }: Data<'update'>): Reply<'update'> {
    const { writes } = this.classes.of(className);
    const prepared = await writes.prepareUpdate(requesterOf({ caller, principal }), objectId, changes, options);
    const { result } = await this.#runOne(caller.appId, className, prepared);
    return { result };
  }

  async remove({ className, objectIds, where, ...sender }: Data<'remove'>): Reply<'remove'> {
    const requester = requesterOf(sender);
    const { writes } = this.classes.of(className);
    const context = await this.access.contextOf(requester);
    context.assertMay('delete', className);
    const access = { context, condition: context.conditionOf(className, where) };
    const removals = inLockOrder(objectIds).map((objectId) => writes.prepareRemove(requester, objectId, access));
    await this.database.repeatable(async (tx) => {
      await writes.lock(tx, requester.appId, removals);
      for (const removal of removals) await removal.run(tx);
    });
    return {};
  }

  async saveAll({ writes, ...sender }: Data<'saveAll'>): Reply<'saveAll'> {
    const requester = requesterOf(sender);
    this.#assertSaveable(writes);
    const identified = writes.map((write) => ({ ...write, id: write.objectId ?? newObjectId(this.clock.now()) }));
    const ids = new Map(identified.map(({ internalId, id }) => [internalId, id]));
    const prepared: { write: IdentifiedWrite; prepared: PreparedWrite }[] = [];
    // Sequentially: many passwords at once would displace those of all other callers from the queue.
    for (const write of identified) {
      const fields = { ...write.fields, ...pointersToChildren(write, ids) };
      prepared.push({ write, prepared: await this.#prepare(requester, { ...write, fields }) });
    }
    return this.database.repeatable(async (tx) => {
      await this.#lock(tx, requester.appId, prepared);
      const results: RpcReply<ObjectsRpc['saveAll']>['results'] = [];
      for (const { write, prepared: one } of prepared) {
        const { objectId, result } = await one.run(tx);
        results.push({ internalId: write.internalId, result: { objectId, ...result } });
      }
      return { results };
    });
  }

  #assertSaveable(writes: readonly ObjectWrite[]): void {
    for (const className of new Set(writes.map((write) => write.className))) {
      const ofClass = writes.filter((write) => write.className === className);
      this.classes.of(className).writes.assertSaveable?.(ofClass);
    }
  }

  #prepare(requester: Requester, write: IdentifiedWrite): Promise<PreparedWrite> {
    const { id, className, objectId, fields, internalId: _, children: __, ...options } = write;
    const { writes } = this.classes.of(className);
    return objectId === undefined
      ? writes.prepareCreate(requester, fields, { objectId: id, returnNew: options.returnNew })
      : writes.prepareUpdate(requester, id, fields, options);
  }

  #runOne(appId: string, className: string, write: PreparedWrite): Promise<WriteResult> {
    return this.database.repeatable(async (tx) => {
      await this.classes.of(className).writes.lock(tx, appId, [write]);
      return write.run(tx);
    });
  }

  /** In one order, independent of that of the writes: else two saves of the same objects would deadlock. */
  async #lock(
    tx: Tx,
    appId: string,
    prepared: readonly { write: IdentifiedWrite; prepared: PreparedWrite }[],
  ): Promise<void> {
    const unique = prepared.flatMap(({ prepared: { uniqueValues = [] } }) => uniqueValues);
    if (prepared.length > 1 && unique.length > 1)
      await tx.lockNames(unique.map((value) => `objects ${appId} ${value}`));
    for (const className of this.classes.names) {
      const ofClass = prepared.filter(({ write }) => write.className === className);
      const locked = ofClass.map(({ prepared: one }) => one);
      if (locked.length > 0) await this.classes.of(className).writes.lock(tx, appId, locked);
    }
  }
}

export function objectsRpcController(contract: ObjectsRpc): Type {
  @Controller()
  class ObjectsController {
    constructor(private readonly requests: ObjectRequests) {}

    @RpcHandler(contract.create)
    create(request: Data<'create'>): Promise<WriteResult> {
      return this.requests.create(request);
    }

    @RpcHandler(contract.get)
    get(request: Data<'get'>): Reply<'get'> {
      return this.requests.get(request);
    }

    @RpcHandler(contract.find)
    find(request: Data<'find'>): Promise<MaybeEncoded<ObjectsRpc['find']>> {
      return this.requests.find(request);
    }

    @RpcHandler(contract.update)
    update(request: Data<'update'>): Reply<'update'> {
      return this.requests.update(request);
    }

    @RpcHandler(contract.remove)
    remove(request: Data<'remove'>): Reply<'remove'> {
      return this.requests.remove(request);
    }

    @RpcHandler(contract.saveAll)
    saveAll(request: Data<'saveAll'>): Reply<'saveAll'> {
      return this.requests.saveAll(request);
    }
  }
  return ObjectsController;
}

function requesterOf({ caller, principal }: Pick<Data<'find'>, 'caller' | 'principal'>): Requester {
  return { ...caller, ...(principal === undefined ? {} : { principal }) };
}

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
