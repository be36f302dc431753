import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { tellPool } from '#database';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';

/** Connections for queries of users and roles, besides those that logins and look-ups need. */
@Injectable()
export class AccountsQueryDatabase extends QueryDatabase implements OnApplicationShutdown {
  constructor(@Inject(ACCOUNTS_CONFIG) { databaseUrl, databasePool }: AccountsConfig, metrics: Metrics) {
    super({
      ...accountsDatabase(databaseUrl, Math.ceil(databasePool / 2)),
      applicationName: 'gatepost-accounts-queries',
    });
    tellPool(this, 'accounts-queries', metrics);
    tellPool(this.indexed, 'accounts-indexed-queries', metrics);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
