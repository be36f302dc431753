import { Controller, Inject } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  type Caller,
  type JsonObject,
  type ObjectWriteOptions,
  rolesRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { Database, type Tx } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import {
  applyChanges,
  assertObjectSize,
  changedFields,
  changedRoots,
  granteesOf,
  grants,
  inLockOrder,
  newObjectId,
  readOnlyKey,
  touched,
  writeForbidden,
} from '#objects';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { ObjectAccess } from '../objects/object-access.js';
import { ObjectClasses, type PreparedWrite } from '../objects/object-classes.js';
import { ObjectsService } from '../objects/objects.service.js';
import { PrincipalsService } from '../sessions/sessions.service.js';
import {
  type MemberChange,
  parseRoleAcl,
  parseRoleChanges,
  parseRoleName,
  presentRole,
  type RoleRow,
} from './role.rules.js';
import { ROLE_QUERY_CLASS, RolesRepository } from './roles.repository.js';

type Roles = typeof rolesRpc;

/** Receives the locked role, and throws to refuse the change. */
type Decision = (current: RoleRow) => Promise<RoleRow> | RoleRow;

interface NewRoleOptions {
  readonly id: string;
  /** Return the whole role. */
  readonly returnNew: boolean;
}

/** Creates, changes and removes roles. The ACL of a role decides which callers may change its members. */
@Controller()
export class RolesController {
  constructor(
    classes: ObjectClasses,
    private readonly objects: ObjectsService,
    private readonly access: ObjectAccess,
    private readonly principals: PrincipalsService,
    private readonly roles: RolesRepository,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {
    classes.register({
      className: '_Role',
      objects: roles,
      queryClass: () => ROLE_QUERY_CLASS,
      prepareWrite: (caller, { id, objectId, fields: written, ...options }) =>
        objectId === undefined
          ? this.prepareCreate(caller, written, { id, returnNew: options.returnNew })
          : this.prepareUpdate(caller, id, written, options),
    });
  }

  /** POST /1.1/roles */
  @RpcHandler(rolesRpc.create)
  async create({ caller, fields, returnNew }: RpcData<Roles['create']>): Promise<RpcReply<Roles['create']>> {
    const objectId = newObjectId(this.clock.now());
    const prepared = await this.prepareCreate(caller, fields, { id: objectId, returnNew });
    return { objectId, result: await this.database.transaction((tx) => prepared.run(tx)) };
  }

  @RpcHandler(rolesRpc.get)
  async get({ caller, objectId, ...options }: RpcData<Roles['get']>): Promise<RpcReply<Roles['get']>> {
    return { role: (await this.objects.get(caller, '_Role', objectId, options)) ?? null };
  }

  /** PUT /1.1/roles/<objectId> */
  @RpcHandler(rolesRpc.update)
  async update({
    caller,
    objectId,
    changes,
    ...options
  }: RpcData<Roles['update']>): Promise<RpcReply<Roles['update']>> {
    const prepared = await this.prepareUpdate(caller, objectId, changes, options);
    return { result: await this.database.transaction((tx) => prepared.run(tx)) };
  }

  /** DELETE /1.1/roles/<objectId>[,…]: all of them or none. */
  @RpcHandler(rolesRpc.remove)
  async remove({ caller, objectIds, where }: RpcData<Roles['remove']>): Promise<RpcReply<Roles['remove']>> {
    await this.access.assertMay(caller, 'delete', '_Role');
    const condition = await this.access.conditionOf(caller, '_Role', where);
    const grantees = await this.granteesOf(caller);
    await this.database.transaction(async (tx) => {
      for (const objectId of inLockOrder(objectIds)) {
        const current = await this.lock(tx, caller.appId, objectId);
        assertMayWrite(caller, grantees, current);
        await condition.assertMet(tx, objectId);
        await this.roles.remove(tx, caller.appId, objectId);
      }
    });
    return {};
  }

  private async prepareCreate(
    caller: Caller,
    fields: JsonObject,
    options: NewRoleOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const changes = parseRoleChanges(fields);
    await this.access.assertMay(caller, 'create', '_Role');
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
        await this.store(tx, caller.appId, role, changes.members);
        const whole = presentRole(role, { showsAcl: true });
        return options.returnNew ? whole : { objectId: role.objectId, createdAt: role.createdAt.toISOString() };
      },
    };
  }

  private async prepareUpdate(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const { name, acl, custom, members } = parseRoleChanges(fields);
    await this.access.assertMay(caller, 'update', '_Role');
    const condition = await this.access.conditionOf(caller, '_Role', options.where);
    const grantees = await this.granteesOf(caller);
    const run: PreparedWrite<JsonObject>['run'] = async (tx) => {
      const decide = async (current: RoleRow) => {
        assertMayWrite(caller, grantees, current);
        await condition.assertMet(tx, objectId);
        assertSameName(name, current);
        return { ...current, acl: acl ?? current.acl, fields: applyChanges(current.fields, custom) };
      };
      const role = await this.change(tx, caller.appId, objectId, { decide, members });
      const names = options.returnNew ? changedRoots(fields) : [];
      return changedFields(presentRole(role, { showsAcl: true }), names);
    };
    return { objectId, run };
  }

  /** Resolved before a transaction, which must not wait for a second connection. */
  private async granteesOf(caller: Caller): Promise<string[]> {
    return caller.isMaster ? [] : granteesOf(await this.principals.of(caller));
  }

  /** @throws AppError UNIQUE_FIELD_TAKEN, INVALID_RELATION */
  private async store(tx: Tx, appId: string, role: RoleRow, members: readonly MemberChange[]): Promise<void> {
    assertObjectSize(role.fields, this.config.objectLimitBytes);
    await this.roles.insert(tx, appId, role);
    await this.changeMembers(tx, appId, role.objectId, members);
  }

  /** @throws AppError NOT_FOUND, INVALID_RELATION */
  private async change(
    tx: Tx,
    appId: string,
    objectId: string,
    { decide, members }: { decide: Decision; members: readonly MemberChange[] },
  ): Promise<RoleRow> {
    const current = await this.lock(tx, appId, objectId);
    const changed = { ...(await decide(current)), ...touched(current, this.clock.now()) };
    assertObjectSize(changed.fields, this.config.objectLimitBytes);
    await this.roles.update(tx, appId, changed);
    await this.changeMembers(tx, appId, objectId, members);
    return changed;
  }

  private async lock(tx: Tx, appId: string, objectId: string): Promise<RoleRow> {
    const role = await this.roles.lock(tx, appId, objectId);
    if (role === undefined) throw appError('NOT_FOUND');
    return role;
  }

  private async changeMembers(tx: Tx, appId: string, roleId: string, changes: readonly MemberChange[]): Promise<void> {
    for (const { kind, ...members } of changes) {
      if (kind === 'addRelation') await this.roles.addMembers(tx, appId, roleId, members);
      else await this.roles.removeMembers(tx, appId, roleId, members);
    }
  }
}

/** @throws AppError FORBIDDEN where the ACL refuses */
function assertMayWrite({ isMaster }: Caller, grantees: readonly string[], { acl }: RoleRow): void {
  if (!isMaster && !grants(acl, 'write', grantees)) throw writeForbidden();
}

/** ACLs refer to a role by name: renaming would change the users that they include. */
function assertSameName(name: string | undefined, role: RoleRow): void {
  if (name !== undefined && name !== role.name) throw readOnlyKey('name');
}
