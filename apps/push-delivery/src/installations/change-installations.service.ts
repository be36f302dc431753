import { Injectable } from '@nestjs/common';
import type { InstallationWrite, JsonObject, ObjectWriteOptions } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { changedFields, changedRoots, inLockOrder } from '#objects';
import { ALWAYS_MET, type UpdateCondition, updateCondition } from '#objects/store';
import { type Asker, InstallationAccess, InstallationAccesses } from './installation-access.js';
import { parseInstallationChanges } from './installation-changes.rules.js';
import { INSTALLATION_QUERY_CLASS } from './installation-query.fields.js';
import { InstallationWriter, type PreparedWrite } from './installation-writer.js';
import { presentInstallation } from './installation.presenter.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';
import { applyChanges, namesDevice } from './installation.rules.js';
import { RegisterInstallationService } from './register-installation.service.js';

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
