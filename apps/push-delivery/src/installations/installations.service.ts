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
  type Asker,
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
    private readonly slowQuestions: SlowQueries,
  ) {}

  /** @returns undefined where there is none, or where its ACL hides it. @throws AppError FORBIDDEN by class permission, INVALID_QUERY */
  async get(
    asker: Asker,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    assertNoInclude(include);
    const access = await this.accesses.of(asker);
    access.assertMay('get');
    const installation = await this.installations.find(access.scope.appId, objectId);
    if (installation === undefined || !access.mayRead(installation)) return undefined;
    return pickKeys(presentInstallation(installation, { showsAcl: access.isMaster || returnAcl }), keys);
  }

  /** @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  async find(asker: Asker, list: ObjectListQuery): Promise<{ results: JsonObject[]; count?: number }> {
    assertNoInclude(list.include);
    const access = await this.accesses.of(asker);
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
    const timed = <T>(work: () => Promise<T>) => this.slowQuestions.timed({ appId, queryClass, query }, work);
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

/** What an installation points to is kept by other services. An answer that leaves it out in silence would look complete. */
function assertNoInclude(include: string | undefined): void {
  if (include !== undefined)
    throw appError('INVALID_QUERY', { message: 'Installations are answered without include.' });
}

interface Registration {
  readonly objectId: string;
  readonly isNew: boolean;
  readonly result: JsonObject;
}

/** POST /1.1/installations: apps register at every start, so it finds the installation where it is there already. */
@Injectable()
export class RegisterInstallationService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly writer: InstallationWriter,
  ) {}

  async register(asker: Asker, fields: JsonObject, returnNew: boolean): Promise<Registration> {
    return this.writer.run(asker.caller.appId, await this.prepare(asker, fields, returnNew));
  }

  async prepare(asker: Asker, fields: JsonObject, returnNew: boolean): Promise<PreparedWrite<Registration>> {
    const { objectId, changes } = parseRegistration(fields);
    const access = await this.accesses.of(asker);
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

/** Of one that was there already, what the request named: more is for whom its ACL lets read. */
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

/** Changes of installations that are known by their object ids, and several writes together. */
@Injectable()
export class ChangeInstallationsService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly registrations: RegisterInstallationService,
    private readonly writer: InstallationWriter,
  ) {}

  /**
   * PUT /1.1/installations/<objectId>. SDKs keep an id for good and never fall back to POST: where no installation has it, and the
   * body names a device, the request registers that device, under this id where it is new.
   */
  async update(asker: Asker, objectId: string, fields: JsonObject, options: ObjectWriteOptions): Promise<JsonObject> {
    return this.writer.run(asker.caller.appId, await this.prepareUpdate(asker, objectId, fields, options));
  }

  /** DELETE /1.1/installations/<objectId>[,…]: all of them or none. */
  async remove(asker: Asker, objectIds: readonly string[], where: unknown): Promise<void> {
    const access = await this.accesses.of(asker);
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

  /** POST /1.1/batch/save: all writes or none. @throws AppError the first write's that cannot be done */
  async saveAll(asker: Asker, writes: readonly InstallationWrite[]): Promise<SavedInstallation[]> {
    const prepared: PreparedWrite<JsonObject>[] = [];
    for (const write of writes) prepared.push(await this.prepare(asker, write));
    const results = await this.writer.runAll(asker.caller.appId, prepared);
    return writes.map(({ internalId }, index) => ({ internalId, result: results[index] ?? {} }));
  }

  private async prepare(asker: Asker, write: InstallationWrite): Promise<PreparedWrite<JsonObject>> {
    if (write.objectId !== undefined) return this.prepareUpdate(asker, write.objectId, write.fields, write);
    const registration = await this.registrations.prepare(asker, write.fields, write.returnNew);
    return { identity: registration.identity, run: async (tx) => (await registration.run(tx)).result };
  }

  private async prepareUpdate(
    asker: Asker,
    objectId: string,
    fields: JsonObject,
    { where, returnNew }: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const changes = parseInstallationChanges(fields);
    const access = await this.accesses.of(asker);
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

  /** The installation with the id; else, for a registration, the one that the device has already. */
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

/** What a condition may name is what may be asked of this one object: finding others is another permission. */
function conditionOf(where: unknown, access: InstallationAccess): UpdateCondition {
  return where === undefined ? ALWAYS_MET : updateCondition(where, INSTALLATION_QUERY_CLASS, access.scope);
}

/** @throws AppError NOT_FOUND, FORBIDDEN by the object's ACL */
function writable(installation: InstallationRow | undefined, access: InstallationAccess): InstallationRow {
  if (installation === undefined) throw appError('NOT_FOUND');
  access.assertMayWrite(installation);
  return installation;
}
