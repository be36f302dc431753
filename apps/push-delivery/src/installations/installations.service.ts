import { Injectable } from '@nestjs/common';
import type { InstallationWrite, JsonObject, ObjectListQuery, ObjectReadOptions, ObjectWriteOptions } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import {
  changedFields,
  changedRoots,
  compileCount,
  compileFind,
  inLockOrder,
  type ObjectQuery,
  parseOrder,
  parseWhere,
  pickKeys,
} from '#objects';
import { ALWAYS_MET, FieldIndexes, SlowQueries, type UpdateCondition, updateCondition } from '#objects/store';
import { InstallationWriter, type PreparedWrite } from './installation-writer.js';
import {
  type Requester,
  INSTALLATION_QUERY_CLASS,
  InstallationAccess,
  InstallationAccesses,
  presentInstallation,
} from './installation.presenter.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';
import { applyChanges, namesDevice, parseInstallationChanges, parseRegistration } from './installation.rules.js';
import { InstallationsRepository, PushQueryDatabase } from './installations.repository.js';

/** GET /1.1/installations and GET /1.1/installations/<objectId>. */
@Injectable()
export class ReadInstallationsService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly installations: InstallationsRepository,
    private readonly queries: PushQueryDatabase,
    private readonly indexes: FieldIndexes,
    private readonly slowQueries: SlowQueries,
  ) {}

  /** @returns undefined if it does not exist or its ACL hides it. @throws AppError FORBIDDEN by class permission, INVALID_QUERY */
  async get(
    requester: Requester,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    assertNoInclude(include);
    const access = await this.accesses.of(requester);
    access.assertMay('get');
    const installation = await this.installations.find(access.scope.appId, objectId);
    if (installation === undefined || !access.mayRead(installation)) return undefined;
    return pickKeys(presentInstallation(installation, { showsAcl: access.isMaster || returnAcl }), keys);
  }

  /** @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  async find(requester: Requester, list: ObjectListQuery): Promise<{ results: JsonObject[]; count?: number }> {
    assertNoInclude(list.include);
    const access = await this.accesses.of(requester);
    const { scope } = access;
    const queryClass = scope.classOf('_Installation');
    const query: ObjectQuery = {
      where: parseWhere(list.where),
      order: parseOrder(list.order),
      limit: list.limit,
      skip: list.skip,
    };
    const { appId } = scope;
    const indexes = await this.indexes.of(appId, '_Installation');
    const timed = <T>(work: () => Promise<T>) => this.slowQueries.timed({ appId, queryClass, query }, work);
    const find = compileFind(query, queryClass, scope, indexes);
    const found = list.limit === 0 ? [] : await timed(() => this.installations.list(this.queries.for(find), find));
    const showsAcl = access.isMaster || list.returnAcl;
    const results = found.map((row) => pickKeys(presentInstallation(row, { showsAcl }), list.keys));
    if (!list.count) return { results };
    const counting = compileCount(query.where, queryClass, scope, indexes);
    const count = await timed(() => this.installations.count(this.queries.for(counting), counting));
    return { results, count };
  }
}

/** Other services store the objects that an installation points to. A response without them would look complete. */
function assertNoInclude(include: string | undefined): void {
  if (include !== undefined)
    throw appError('INVALID_QUERY', { message: '`include` is not supported for `_Installation`.' });
}

interface Registration {
  readonly objectId: string;
  readonly isNew: boolean;
  readonly result: JsonObject;
}

/** POST /1.1/installations. Apps register at every start, so it updates an existing installation. */
@Injectable()
export class RegisterInstallationService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly writer: InstallationWriter,
  ) {}

  async register(requester: Requester, fields: JsonObject, returnNew: boolean): Promise<Registration> {
    return this.writer.run(requester.caller.appId, await this.prepare(requester, fields, returnNew));
  }

  async prepare(requester: Requester, fields: JsonObject, returnNew: boolean): Promise<PreparedWrite<Registration>> {
    const { objectId, changes } = parseRegistration(fields);
    const access = await this.accesses.of(requester);
    const identity = { ...changes, objectId };
    const run: PreparedWrite<Registration>['run'] = async (tx) => {
      const known = await this.writer.lockRegistered(tx, access.scope.appId, identity);
      access.assertMay(known === undefined ? 'create' : 'update');
      if (known !== undefined) access.assertMayWrite(known);
      const saved = await this.writer.save(tx, access, known, (current) => applyChanges(current, changes));
      const isNew = known === undefined;
      return { objectId: saved.objectId, isNew, result: answer(saved, { isNew, returnNew, fields }) };
    };
    return { identity, run };
  }
}

/** For an existing installation, only the fields that the request names: reading others requires the ACL. */
function answer(
  saved: InstallationRow,
  { isNew, returnNew, fields }: { isNew: boolean; returnNew: boolean; fields: JsonObject },
): JsonObject {
  const whole = presentInstallation(saved, { showsAcl: true });
  if (isNew) return returnNew ? whole : { objectId: saved.objectId, createdAt: saved.createdAt.toISOString() };
  return changedFields(whole, ['createdAt', ...(returnNew ? changedRoots(fields) : [])]);
}

interface SavedInstallation {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** Changes of installations by object id, and batches of writes. */
@Injectable()
export class ChangeInstallationsService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly registrations: RegisterInstallationService,
    private readonly writer: InstallationWriter,
  ) {}

  /**
   * PUT /1.1/installations/<objectId>. SDKs store an id permanently and never fall back to POST. If no installation has the id and
   * the body names a device, the request registers the device; a new installation gets this id.
   */
  async update(
    requester: Requester,
    objectId: string,
    fields: JsonObject,
    options: ObjectWriteOptions,
  ): Promise<JsonObject> {
    return this.writer.run(requester.caller.appId, await this.prepareUpdate(requester, objectId, fields, options));
  }

  /** DELETE /1.1/installations/<objectId>[,…]: all or none. */
  async remove(requester: Requester, objectIds: readonly string[], where: unknown): Promise<void> {
    const access = await this.accesses.of(requester);
    access.assertMay('delete');
    const condition = conditionOf(where, access);
    const { appId } = access.scope;
    const removals = inLockOrder(objectIds).map((objectId): PreparedWrite<void> => ({
      identity: { objectId },
      run: async (tx) => {
        const current = writable(await this.writer.lock(tx, appId, objectId), access);
        await condition.assertMet(tx, objectId);
        await this.writer.remove(tx, appId, [current]);
      },
    }));
    await this.writer.runAll(appId, removals);
  }

  /** POST /1.1/batch/save: all writes or none. @throws AppError of the first write that fails */
  async saveAll(requester: Requester, writes: readonly InstallationWrite[]): Promise<SavedInstallation[]> {
    const prepared: PreparedWrite<JsonObject>[] = [];
    for (const write of writes) prepared.push(await this.prepare(requester, write));
    const results = await this.writer.runAll(requester.caller.appId, prepared);
    return writes.map(({ internalId }, index) => ({ internalId, result: results[index] ?? {} }));
  }

  private async prepare(requester: Requester, write: InstallationWrite): Promise<PreparedWrite<JsonObject>> {
    if (write.objectId !== undefined) return this.prepareUpdate(requester, write.objectId, write.fields, write);
    const registration = await this.registrations.prepare(requester, write.fields, write.returnNew);
    return { identity: registration.identity, run: async (tx) => (await registration.run(tx)).result };
  }

  private async prepareUpdate(
    requester: Requester,
    objectId: string,
    fields: JsonObject,
    { where, returnNew }: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const changes = parseInstallationChanges(fields);
    const access = await this.accesses.of(requester);
    const isRegistration = namesDevice(changes);
    if (!isRegistration) access.assertMay('update');
    const condition = conditionOf(where, access);
    const identity = { ...changes, objectId };
    const run: PreparedWrite<JsonObject>['run'] = async (tx) => {
      const known = await this.lockKnown(tx, access.scope.appId, identity, isRegistration);
      if (known === undefined && !isRegistration) throw appError('NOT_FOUND');
      access.assertMay(known === undefined ? 'create' : 'update');
      if (known !== undefined) access.assertMayWrite(known);
      await condition.assertMet(tx, known?.objectId ?? objectId);
      const saved = await this.writer.save(tx, access, known, (row) =>
        applyChanges(known === undefined ? { ...row, objectId } : row, changes),
      );
      const whole = presentInstallation(saved, { showsAcl: true });
      return changedFields(whole, returnNew ? changedRoots(fields) : []);
    };
    return { identity, run };
  }

  /** The installation with the id; else, for a registration, the existing installation of the device. */
  private async lockKnown(
    tx: Tx,
    appId: string,
    identity: InstallationIdentity & { readonly objectId: string },
    isRegistration: boolean,
  ): Promise<InstallationRow | undefined> {
    const named = await this.writer.lock(tx, appId, identity.objectId);
    return named === undefined && isRegistration ? this.writer.lockRegistered(tx, appId, identity) : named;
  }
}

/** A condition sees only the object that it belongs to: finding other objects needs another permission. */
function conditionOf(where: unknown, access: InstallationAccess): UpdateCondition {
  return where === undefined ? ALWAYS_MET : updateCondition(where, INSTALLATION_QUERY_CLASS, access.scope);
}

/** @throws AppError NOT_FOUND, FORBIDDEN by the object's ACL */
function writable(installation: InstallationRow | undefined, access: InstallationAccess): InstallationRow {
  if (installation === undefined) throw appError('NOT_FOUND');
  access.assertMayWrite(installation);
  return installation;
}
