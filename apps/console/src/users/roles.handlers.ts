import { Injectable } from '@nestjs/common';
import { consoleApi, type RoleDetails } from '#console-api';
import { type Caller, type JsonObject, type JsonValue, objectsRpc } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { type ConsoleRequest, Handles, ifUnchanged, type ReplyOf, type RequestOf } from '../routing/console-handler.js';
import { contactMasks, textOrNull } from './user.rules.js';

type OneRole = ReplyOf<'getRole'>;

const MAX_SHOWN_ROLES = 200;
const CLASS = { _Role: 'roles', _User: 'users' } as const;

@Injectable()
export class RolesHandlers {
  constructor(private readonly rpc: RpcClient) {}

  @Handles(consoleApi.listRoles)
  async list({ query, caller }: RequestOf<'listRoles'>): Promise<ReplyOf<'listRoles'>> {
    const { text, after, limit } = query;
    const name = {
      ...(text === undefined ? {} : beginsWith(text)),
      ...(after === undefined ? {} : { $gt: after }),
    };
    const where = Object.keys(name).length === 0 ? {} : { name };
    const found = await this.#find(caller, '_Role', where, { order: 'name', limit: limit + 1 });
    const items = found.slice(0, limit).map((role) => ({ ...timesOf(role), name: textOf(role['name']) }));
    return { items, next: found.length > limit ? (items.at(-1)?.name ?? null) : null };
  }

  @Handles(consoleApi.getRole)
  get(request: RequestOf<'getRole'>): Promise<OneRole> {
    return this.#role(request, request.params.roleId);
  }

  @Handles(consoleApi.listRoleUsers)
  async listUsers(request: RequestOf<'listRoleUsers'>): Promise<ReplyOf<'listRoleUsers'>> {
    const { caller, params, query } = request;
    const { text, after, limit } = query;
    if (text !== undefined) request.require('users.contact');
    const where = {
      ...memberOf(params.roleId, '_User'),
      ...(text === undefined ? {} : { username: { ...beginsWith(text), $options: 'i' } }),
      ...(after === undefined ? {} : { objectId: { $gt: after } }),
    };
    const found = await this.#find(caller, '_User', where, { order: 'objectId', limit: limit + 1 });
    const masks = contactMasks(request.may('users.contact'));
    const items = found.slice(0, limit).map((user) => ({
      objectId: textOf(user['objectId']),
      username: masks.name(textOrNull(user['username'])),
    }));
    return { items, next: found.length > limit ? (items.at(-1)?.objectId ?? null) : null };
  }

  @Handles(consoleApi.createRole)
  async create(request: RequestOf<'createRole'>): Promise<OneRole> {
    const { name, ACL, users, roles } = request.body;
    const fields = {
      name,
      ACL: ACL as JsonObject,
      ...relation('users', '_User', 'AddRelation', users),
      ...relation('roles', '_Role', 'AddRelation', roles),
    };
    const created = { caller: request.caller, className: '_Role', fields, returnNew: false };
    const { objectId } = await this.rpc.call(objectsRpc.create, created);
    request.act = { target: objectId };
    return this.#role(request, objectId);
  }

  /** Two updates, because an update has one operation for each field. */
  @Handles(consoleApi.changeRole)
  async change(request: RequestOf<'changeRole'>): Promise<ReplyOf<'changeRole'>> {
    const { caller, params, body } = request;
    const { role } = await this.#role(request, params.roleId);
    request.act = { before: { ACL: role.ACL } };
    const [changedUsers, changedRoles] = await Promise.all([
      this.#changedMembers(request, '_User', { added: body.addUsers, removed: body.removeUsers }),
      this.#changedMembers(request, '_Role', { added: body.addRoles, removed: body.removeRoles }),
    ]);
    const { ACL, updatedAt } = body;
    const added = {
      ...(ACL === undefined ? {} : { ACL: ACL as JsonObject }),
      ...relation('users', '_User', 'AddRelation', body.addUsers),
      ...relation('roles', '_Role', 'AddRelation', body.addRoles),
    };
    const removed = {
      ...relation('users', '_User', 'RemoveRelation', body.removeUsers),
      ...relation('roles', '_Role', 'RemoveRelation', body.removeRoles),
    };
    for (const changes of [added, removed]) {
      if (Object.keys(changes).length === 0) continue;
      const where = 'ACL' in changes && updatedAt !== undefined ? { where: unchangedSince(updatedAt) } : {};
      const update = { caller, className: '_Role', objectId: params.roleId, changes, ...where, returnNew: false };
      await ifUnchanged(this.rpc.call(objectsRpc.update, update));
    }
    return { ...(await this.#role(request, params.roleId)), changed: [...changedUsers, ...changedRoles] };
  }

  async #changedMembers(
    { caller, params }: Pick<RequestOf<'changeRole'>, 'caller' | 'params'>,
    className: keyof typeof CLASS,
    { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
  ): Promise<string[]> {
    const ids = [...added, ...removed];
    if (ids.length === 0) return [];
    const where = { ...memberOf(params.roleId, className), objectId: { $in: ids } };
    const found = await this.#find(caller, className, where, { order: 'createdAt', limit: ids.length });
    const members = new Set(found.map(({ objectId }) => objectId));
    return [...added.filter((id) => !members.has(id)), ...removed.filter((id) => members.has(id))];
  }

  @Handles(consoleApi.deleteRole)
  async delete(request: RequestOf<'deleteRole'>): Promise<ReplyOf<'deleteRole'>> {
    const { caller, params } = request;
    const { role } = await this.#role(request, params.roleId);
    request.act = { before: { name: role.name, ACL: role.ACL } };
    return this.rpc.call(objectsRpc.remove, { caller, className: '_Role', objectIds: [params.roleId] });
  }

  async #role({ caller }: Pick<ConsoleRequest, 'caller'>, objectId: string): Promise<{ role: RoleDetails }> {
    const { object } = await this.rpc.call(objectsRpc.get, { caller, className: '_Role', objectId, returnAcl: true });
    if (object?.['objectId'] === undefined) throw appError('NOT_FOUND', { message: 'There is no such role.' });
    const page = { order: 'createdAt', limit: MAX_SHOWN_ROLES };
    const roles = await this.#find(caller, '_Role', memberOf(objectId, '_Role'), page);
    return {
      role: {
        ...timesOf(object),
        name: textOf(object['name']),
        ACL: (object['ACL'] ?? {}) as JsonObject,
        roles: roles.map((role) => ({ objectId: textOf(role['objectId']), name: textOf(role['name']) })),
      },
    };
  }

  async #find(
    caller: Caller,
    className: string,
    where: JsonObject,
    page: { order: string; limit: number },
  ): Promise<JsonObject[]> {
    const query = { caller, className, where, ...page, skip: 0, count: false, returnAcl: false };
    return (await this.rpc.call(objectsRpc.find, query)).results;
  }
}

function beginsWith(text: string): JsonObject {
  return { $regex: `^${text.replaceAll(/[^\p{L}\p{N}_]/gu, String.raw`\$&`)}` };
}

function timesOf(object: JsonObject): { objectId: string; createdAt: string; updatedAt: string } {
  const [objectId, createdAt, updatedAt] = [object['objectId'], object['createdAt'], object['updatedAt']];
  return { objectId: textOf(objectId), createdAt: textOf(createdAt), updatedAt: textOf(updatedAt) };
}

function unchangedSince(updatedAt: string): JsonObject {
  return { updatedAt: { __type: 'Date', iso: updatedAt } };
}

function pointer(className: string, objectId: string): JsonObject {
  return { __type: 'Pointer', className, objectId };
}

function memberOf(roleId: string, className: keyof typeof CLASS): JsonObject {
  return { $relatedTo: { object: pointer('_Role', roleId), key: CLASS[className] } };
}

function relation(
  key: 'roles' | 'users',
  className: string,
  operation: 'AddRelation' | 'RemoveRelation',
  ids: readonly string[],
): JsonObject {
  if (ids.length === 0) return {};
  return { [key]: { __op: operation, objects: ids.map((id) => pointer(className, id)) } };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
