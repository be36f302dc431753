import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { consoleApi, type RoleDetails, type RouteBody } from '#console-api';
import { type Caller, type JsonObject, type JsonValue, objectsRpc } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import {
  changedSince,
  type ConsoleRequest,
  Handles,
  ifUnchanged,
  type ReplyOf,
  type RequestOf,
  undoOf,
} from '../routing/console-handler.js';
import { contactMasks, textOrNull } from './user.rules.js';

type OneRole = ReplyOf<'getRole'>;

interface MemberChange {
  readonly added: string[];
  readonly removed: string[];
}

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
      ...relation('users', '_User', { added: users, removed: [] }),
      ...relation('roles', '_Role', { added: roles, removed: [] }),
    };
    const created = { caller: request.caller, className: '_Role', fields, returnNew: false };
    const { objectId } = await this.rpc.call(objectsRpc.create, created);
    request.act = { target: objectId };
    return this.#role(request, objectId);
  }

  @Handles(consoleApi.changeRole)
  async change(request: RequestOf<'changeRole'>): Promise<ReplyOf<'changeRole'>> {
    const { caller, params, body } = request;
    const { role } = await this.#role(request, params.roleId);
    request.act = { before: { ACL: role.ACL } };
    const { ACL, updatedAt, former } = body;
    const users = { added: body.addUsers, removed: body.removeUsers };
    const roles = { added: body.addRoles, removed: body.removeRoles };
    const changed = {
      users: await this.#changedMembers(request, '_User', users),
      roles: await this.#changedMembers(request, '_Role', roles),
    };
    if (former !== undefined) assertFormer(former, { role, isWhole: isDeepStrictEqual(changed, { users, roles }) });
    const seenAt = former === undefined ? ACL && updatedAt : role.updatedAt;
    const changes = {
      ...(ACL === undefined ? {} : { ACL: ACL as JsonObject }),
      ...relation('users', '_User', users),
      ...relation('roles', '_Role', roles),
    };
    const where = seenAt === undefined ? {} : { where: unchangedSince(seenAt) };
    const update = { caller, className: '_Role', objectId: params.roleId, changes, ...where, returnNew: true };
    const isChange = Object.keys(changes).length > 0;
    const { result } = isChange ? await ifUnchanged(this.rpc.call(objectsRpc.update, update)) : { result: {} };
    const acl = ACL && { former: role.ACL as JsonObject, written: result['ACL'] as JsonObject };
    const isCertain = ACL === undefined || seenAt !== undefined;
    const undo = undoOf(request, 'changeRole', isCertain ? inverse(changed, acl) : undefined);
    return { ...(await this.#role(request, params.roleId)), undo };
  }

  async #changedMembers(
    { caller, params }: Pick<RequestOf<'changeRole'>, 'caller' | 'params'>,
    className: keyof typeof CLASS,
    { added, removed }: MemberChange,
  ): Promise<MemberChange> {
    const ids = [...added, ...removed];
    if (ids.length === 0) return { added: [], removed: [] };
    const where = { ...memberOf(params.roleId, className), objectId: { $in: ids } };
    const found = await this.#find(caller, className, where, { order: 'createdAt', limit: ids.length });
    const members = new Set(found.map(({ objectId }) => objectId));
    return { added: added.filter((id) => !members.has(id)), removed: removed.filter((id) => members.has(id)) };
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

function relation(key: 'roles' | 'users', className: string, { added, removed }: MemberChange): JsonObject {
  const operation = (__op: string, ids: readonly string[]) =>
    ids.length === 0 ? [] : [{ __op, objects: ids.map((id) => pointer(className, id)) }];
  const ops = [...operation('AddRelation', added), ...operation('RemoveRelation', removed)];
  const [only] = ops;
  if (only === undefined) return {};
  return { [key]: ops.length === 1 ? only : { __op: 'Batch', ops } };
}

type RoleChange = RouteBody<typeof consoleApi.changeRole>;

function inverse(
  { users, roles }: Readonly<Record<'roles' | 'users', MemberChange>>,
  acl: Readonly<Record<'former' | 'written', JsonObject>> | undefined,
): RoleChange | undefined {
  const members = {
    addUsers: users.removed,
    removeUsers: users.added,
    addRoles: roles.removed,
    removeRoles: roles.added,
  };
  if (acl === undefined && Object.values(members).every(({ length }) => length === 0)) return undefined;
  return { ...members, ...(acl && { ACL: acl.former }), former: acl ? { ACL: acl.written } : {} };
}

/** @throws AppError NO_EFFECT unless the access list is the former one, and each given member changes */
function assertFormer(
  { ACL }: NonNullable<RoleChange['former']>,
  { role, isWhole }: { readonly role: RoleDetails; readonly isWhole: boolean },
): void {
  if (!isWhole || (ACL !== undefined && !isDeepStrictEqual(ACL, role.ACL))) throw changedSince();
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
