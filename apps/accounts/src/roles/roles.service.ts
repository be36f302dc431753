import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Caller, JsonObject, ObjectWriteOptions } from '#contracts';
import { applyChanges, changedFields, changedRoots, inLockOrder, readOnlyKey } from '#objects';
import { ClassAccess } from '../class-permissions/class-access.js';
import type { PreparedWrite } from '../objects/prepared-write.js';
import { UpdateConditions } from '../objects/update-conditions.js';
import { RoleAccess } from './role-access.js';
import { parseRoleAcl, parseRoleChanges, parseRoleName } from './role-changes.rules.js';
import { RoleWriter } from './role-writer.js';
import { presentRole } from './role.presenter.js';
import type { RoleRow } from './role.row.js';

export interface NewRoleOptions {
  readonly id: string;
  /** Answer the whole role. */
  readonly returnNew: boolean;
}

/** Writes to roles: whoever may write a role decides who has it. */
@Injectable()
export class RolesService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly access: RoleAccess,
    private readonly conditions: UpdateConditions,
    private readonly writer: RoleWriter,
    private readonly clock: Clock,
  ) {}

  /** POST /1.1/roles */
  async create(caller: Caller, fields: JsonObject, options: NewRoleOptions): Promise<JsonObject> {
    const prepared = await this.prepareCreate(caller, fields, options);
    return this.writer.transaction((tx) => prepared.run(tx));
  }

  async prepareCreate(caller: Caller, fields: JsonObject, options: NewRoleOptions): Promise<PreparedWrite<JsonObject>> {
    const changes = parseRoleChanges(fields);
    await this.classes.assertMay(caller, 'create', '_Role');
    const now = this.clock.now();
    const role: RoleRow = {
      objectId: options.id,
      name: parseRoleName(fields['name']),
      acl: parseRoleAcl(fields['ACL']),
      fields: applyChanges({}, changes.custom),
      createdAt: now,
      updatedAt: now,
    };
    return {
      objectId: role.objectId,
      run: async (tx) => {
        await this.writer.create(tx, caller.appId, role, changes.members);
        const whole = presentRole(role, { showsAcl: true });
        return options.returnNew ? whole : { objectId: role.objectId, createdAt: role.createdAt.toISOString() };
      },
    };
  }

  /** PUT /1.1/roles/<objectId> */
  async update(caller: Caller, objectId: string, fields: JsonObject, options: ObjectWriteOptions): Promise<JsonObject> {
    const prepared = await this.prepareUpdate(caller, objectId, fields, options);
    return this.writer.transaction((tx) => prepared.run(tx));
  }

  async prepareUpdate(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const { name, acl, custom, members } = parseRoleChanges(fields);
    await this.classes.assertMay(caller, 'update', '_Role');
    const condition = await this.conditions.prepare(caller, '_Role', options.where);
    const grantees = await this.access.granteesOf(caller);
    const run: PreparedWrite<JsonObject>['run'] = async (tx) => {
      const decide = async (current: RoleRow) => {
        this.access.assertMayWrite(caller, grantees, current);
        await condition.assertMet(tx, objectId);
        assertSameName(name, current);
        return { ...current, acl: acl ?? current.acl, fields: applyChanges(current.fields, custom) };
      };
      const role = await this.writer.change(tx, caller.appId, objectId, { decide, members });
      const names = options.returnNew ? changedRoots(fields) : [];
      return changedFields(presentRole(role, { showsAcl: true }), names);
    };
    return { objectId, run };
  }

  /** DELETE /1.1/roles/<objectId>[,…]: all of them or none. */
  async remove(caller: Caller, objectIds: readonly string[], where: unknown): Promise<void> {
    await this.classes.assertMay(caller, 'delete', '_Role');
    const condition = await this.conditions.prepare(caller, '_Role', where);
    const grantees = await this.access.granteesOf(caller);
    await this.writer.transaction(async (tx) => {
      for (const objectId of inLockOrder(objectIds)) {
        await this.writer.remove(tx, caller.appId, objectId, async (current) => {
          this.access.assertMayWrite(caller, grantees, current);
          await condition.assertMet(tx, objectId);
        });
      }
    });
  }
}

/** ACLs name a role by its name: another one would change who they mean. */
function assertSameName(name: string | undefined, role: RoleRow): void {
  if (name !== undefined && name !== role.name) throw readOnlyKey('name');
}
