import { Controller, Injectable, Module } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  accountsImportRpc,
  accountsIndexesRpc,
  type ClassPermissions,
  includesRpc,
  objectsRpc,
  type Principal,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { Database } from '#database';
import { RpcHandler } from '#messaging';
import { roleClass } from '#objects';
import { AccessSource, ObjectReader, ObjectsModule, type Requester } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { ApplicationsModule } from '../applications/applications.module.js';
import { ApplicationsService } from '../applications/applications.service.js';
import { RoleEntity, RoleMembersRepository } from '../roles/roles.repository.js';
import { PrincipalsRepository, PrincipalsService, SessionTokens } from '../sessions/session-tokens.js';

@Module({
  imports: [ApplicationsModule],
  providers: [Clock, PrincipalsRepository, PrincipalsService, SessionTokens],
  exports: [ApplicationsModule, Clock, PrincipalsService, SessionTokens],
})
export class SessionsModule {}

@Injectable()
class AccountsAccess extends AccessSource {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly principals: PrincipalsService,
  ) {
    super();
  }

  permissionsOf(appId: string): Promise<ClassPermissions> {
    return this.applications.permissionsOf(appId);
  }

  principalOf(requester: Requester): Promise<Principal> {
    return this.principals.of(requester);
  }

  async hidesContact(appId: string): Promise<boolean> {
    return (await this.applications.settingsOf(appId)).hideContact;
  }
}

/** The object engine of accounts. The modules of its classes import it. */
export const AccountsObjectsModule = ObjectsModule.forService({
  name: 'accounts',
  contract: objectsRpc,
  indexes: accountsIndexesRpc,
  imports: accountsImportRpc,
  access: AccountsAccess,
  modules: [SessionsModule],
  settings: {
    useFactory: ({ databaseUrl, databasePool, objectLimitBytes }: AccountsConfig) => ({
      database: accountsDatabase(databaseUrl, databasePool),
      limitBytes: objectLimitBytes,
    }),
    inject: [ACCOUNTS_CONFIG],
  },
  databaseToken: Database,
});

@Controller()
export class IncludesController {
  constructor(private readonly reader: ObjectReader) {}

  @RpcHandler(includesRpc.resolve)
  async resolve({
    caller,
    objects,
    ...options
  }: RpcData<typeof includesRpc.resolve>): Promise<RpcReply<typeof includesRpc.resolve>> {
    return { objects: await this.reader.include(caller, objects, options) };
  }
}

type Rpc = typeof accountsImportRpc;

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
