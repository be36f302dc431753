import { Module } from '@nestjs/common';
import { pushIndexesRpc } from '#contracts';
import { FieldIndexesModule } from '#objects/store';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { InstallationQueriesController } from './installation-queries.controller.js';
import { InstallationWriter } from './installation-writer.js';
import { INSTALLATION_QUERY_CLASS } from './installation.presenter.js';
import { InstallationsController } from './installations.controller.js';
import { InstallationsRepository, PushQueryDatabase } from './installations.repository.js';

const indexes = FieldIndexesModule.forService({
  classes: new Map([['_Installation', INSTALLATION_QUERY_CLASS]]),
  contract: pushIndexesRpc,
  databaseOptions: {
    useFactory: ({ databaseUrl }: PushDeliveryConfig) => pushDatabase(databaseUrl, 1),
    inject: [PUSH_DELIVERY_CONFIG],
  },
  databaseToken: PushDatabase,
});

/** The class `_Installation`. */
@Module({
  imports: [indexes],
  controllers: [InstallationQueriesController, InstallationsController],
  providers: [InstallationWriter, InstallationsRepository, PushQueryDatabase],
  exports: [PushQueryDatabase],
})
export class InstallationsModule {}
