import { Injectable, Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { type ClassPermissions, installationsRpc, type Principal, pushImportRpc, pushIndexesRpc } from '#contracts';
import { appError } from '#errors';
import { ANONYMOUS } from '#objects';
import { AccessSource, ObjectsModule, type Requester } from '#objects/store';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { InstallationWriter } from './installation-writer.js';
import { InstallationsRepository } from './installations.repository.js';

/** The gateway has accounts resolve the session, and sends the principal with the request. */
@Injectable()
class PushAccess extends AccessSource {
  constructor(private readonly applications: ApplicationDirectory) {
    super();
  }

  /** @throws AppError UNAUTHORIZED if the application no longer exists */
  async permissionsOf(appId: string): Promise<ClassPermissions> {
    const application = await this.applications.find(appId);
    if (application === null) throw appError('UNAUTHORIZED');
    return application.classPermissions;
  }

  principalOf({ principal = ANONYMOUS }: Requester): Promise<Principal> {
    return Promise.resolve(principal);
  }

  hidesContact(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

const PushObjectsModule = ObjectsModule.forService({
  name: 'push',
  contract: installationsRpc,
  indexes: pushIndexesRpc,
  imports: pushImportRpc,
  access: PushAccess,
  settings: {
    useFactory: ({ databaseUrl, databasePool, objectLimitBytes }: PushDeliveryConfig) => ({
      database: pushDatabase(databaseUrl, databasePool),
      limitBytes: objectLimitBytes,
    }),
    inject: [PUSH_DELIVERY_CONFIG],
  },
  databaseToken: PushDatabase,
});

@Module({
  imports: [PushObjectsModule],
  providers: [InstallationWriter, InstallationsRepository],
  exports: [PushObjectsModule],
})
export class InstallationsModule {}
