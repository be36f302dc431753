import { Injectable } from '@nestjs/common';
import type { JsonObject } from '#contracts';
import { changedFields, changedRoots } from '#objects';
import { type Asker, InstallationAccesses } from './installation-access.js';
import { parseRegistration } from './installation-changes.rules.js';
import { InstallationWriter, type PreparedWrite } from './installation-writer.js';
import { presentInstallation } from './installation.presenter.js';
import type { InstallationRow } from './installation.row.js';
import { applyChanges } from './installation.rules.js';

export interface Registration {
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
