import { Controller, Module } from '@nestjs/common';
import { accountsImportRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { roleClass } from '#objects';
import { ObjectsModule } from '#objects/store';
import { AccountsObjectsModule } from '../objects/objects.module.js';
import { RoleMembersRepository } from './role-members.repository.js';
import { RoleEntity } from './role.entity.js';

type Rpc = typeof accountsImportRpc;

/** Imports the members of roles. For operators. */
@Controller()
class RoleMembersController {
  constructor(private readonly members: RoleMembersRepository) {}

  @RpcHandler(accountsImportRpc.importMembers)
  async importMembers({
    appId,
    field,
    members,
    isPreview,
  }: RpcData<Rpc['importMembers']>): Promise<RpcReply<Rpc['importMembers']>> {
    const resolved = await this.members.resolve(appId, field, members);
    const unknown = resolved.filter(({ roleId, memberId }) => roleId === null || memberId === null);
    const fresh = resolved.filter(({ roleId, memberId, isKnown }) => roleId !== null && memberId !== null && !isKnown);
    if (!isPreview && fresh.length > 0) await this.members.add(appId, field, fresh);
    return {
      unknown: unknown.map(({ index, roleId, memberId }) => ({
        index,
        hasRole: roleId !== null,
        hasMember: memberId !== null,
      })),
      known: resolved.filter(({ isKnown }) => isKnown).map(({ index }) => index),
    };
  }
}

/** Roles. The ACL of a role decides which callers may change its members. */
@Module({
  imports: [ObjectsModule.forClass(AccountsObjectsModule, { objectClass: roleClass, entity: RoleEntity })],
  controllers: [RoleMembersController],
  providers: [RoleMembersRepository],
})
export class RolesModule {}
