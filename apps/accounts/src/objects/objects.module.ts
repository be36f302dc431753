import { Controller, Injectable } from '@nestjs/common';
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
import { AccessSource, ObjectReader, ObjectsModule, type Requester } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService, SessionsModule } from '../sessions/sessions.service.js';

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

/** Adds objects of accounts to those of other services. */
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
