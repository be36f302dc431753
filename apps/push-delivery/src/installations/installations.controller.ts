import { Controller } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import {
  type InstallationWrite,
  installationsRpc,
  type JsonObject,
  type ObjectWriteOptions,
  type RpcData,
  type RpcReply,
} from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { changedFields, changedRoots, inLockOrder } from '#objects';
import { ALWAYS_MET, type UpdateCondition, updateCondition } from '#objects/store';
import { InstallationWriter, prepareAll, type PreparedWrite } from './installation-writer.js';
import {
  accessOf,
  INSTALLATION_QUERY_CLASS,
  type InstallationAccess,
  presentInstallation,
  type Requester,
} from './installation.presenter.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';
import { applyChanges, namesDevice, parseInstallationChanges, parseRegistration } from './installation.rules.js';

type Installations = typeof installationsRpc;
type Registration = RpcReply<Installations['register']>;

/** Registrations, changes and removals of installations. */
@Controller()
export class InstallationsController {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly writer: InstallationWriter,
  ) {}

  /** POST /1.1/installations. Apps register at every start, so it updates an existing installation. */
  @RpcHandler(installationsRpc.register)
  async register({ fields, returnNew, ...requester }: RpcData<Installations['register']>): Promise<Registration> {
    return this.writer.run(requester.caller.appId, await this.prepareRegistration(requester, fields, returnNew));
  }

  /**
   * PUT /1.1/installations/<objectId>. SDKs store an id permanently and never fall back to POST. If no installation has the id and
   * the body names a device, the request registers the device; a new installation gets this id.
   */
  @RpcHandler(installationsRpc.update)
  async update({
    caller,
    principal,
    objectId,
    changes,
    ...options
  }: RpcData<Installations['update']>): Promise<RpcReply<Installations['update']>> {
    const prepared = await this.prepareUpdate({ caller, principal }, objectId, changes, options);
    return { result: await this.writer.run(caller.appId, prepared) };
  }

  /** DELETE /1.1/installations/<objectId>[,…]: all or none. */
  @RpcHandler(installationsRpc.remove)
  async remove({
    objectIds,
    where,
    ...requester
  }: RpcData<Installations['remove']>): Promise<RpcReply<Installations['remove']>> {
    const access = await accessOf(requester, this.applications);
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
    return {};
  }

  /** POST /1.1/batch/save: all writes or none. @throws AppError of the first write that fails */
  @RpcHandler(installationsRpc.saveAll)
  async saveAll({
    writes,
    ...requester
  }: RpcData<Installations['saveAll']>): Promise<RpcReply<Installations['saveAll']>> {
    const prepared = await prepareAll(writes, (write) => this.prepare(requester, write));
    const results = await this.writer.runAll(requester.caller.appId, prepared);
    return { results: writes.map(({ internalId }, index) => ({ internalId, result: results[index] ?? {} })) };
  }

  private async prepareRegistration(
    requester: Requester,
    fields: JsonObject,
    returnNew: boolean,
  ): Promise<PreparedWrite<Registration>> {
    const { objectId, changes } = parseRegistration(fields);
    const access = await accessOf(requester, this.applications);
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

  private async prepare(requester: Requester, write: InstallationWrite): Promise<PreparedWrite<JsonObject>> {
    if (write.objectId !== undefined) return this.prepareUpdate(requester, write.objectId, write.fields, write);
    const registration = await this.prepareRegistration(requester, write.fields, write.returnNew);
    return { identity: registration.identity, run: async (tx) => (await registration.run(tx)).result };
  }

  private async prepareUpdate(
    requester: Requester,
    objectId: string,
    fields: JsonObject,
    { where, returnNew }: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const changes = parseInstallationChanges(fields);
    const access = await accessOf(requester, this.applications);
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

/** For an existing installation, only the fields that the request names: reading others requires the ACL. */
function answer(
  saved: InstallationRow,
  { isNew, returnNew, fields }: { isNew: boolean; returnNew: boolean; fields: JsonObject },
): JsonObject {
  const whole = presentInstallation(saved, { showsAcl: true });
  if (isNew) return returnNew ? whole : { objectId: saved.objectId, createdAt: saved.createdAt.toISOString() };
  return changedFields(whole, ['createdAt', ...(returnNew ? changedRoots(fields) : [])]);
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
