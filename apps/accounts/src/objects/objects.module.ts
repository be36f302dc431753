import { Injectable } from '@nestjs/common';
import { accountsImportRpc, accountsIndexesRpc, type ClassPermissions, objectsRpc, type Principal } from '#contracts';
import { Database } from '#database';
import { AccessSource, ObjectsModule, type Requester } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService } from '../sessions/sessions.service.js';
import { SessionsModule } from '../sessions/sessions.module.js';

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
