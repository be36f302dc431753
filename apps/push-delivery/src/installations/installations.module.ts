import { Module } from '@nestjs/common';
import { AbandonedQueues } from './abandoned-queues.js';
import { ChangeInstallationsService } from './change-installations.service.js';
import { InstallationAccesses } from './installation-access.js';
import { InstallationWriter } from './installation-writer.js';
import { InstallationsController } from './installations.controller.js';
import { InstallationsRepository } from './installations.repository.js';
import { PushQueryDatabase } from './push-query-database.js';
import { ReadInstallationsService } from './read-installations.service.js';
import { RegisterInstallationService } from './register-installation.service.js';

/** The class `_Installation`. */
@Module({
  controllers: [InstallationsController],
  providers: [
    AbandonedQueues,
    ChangeInstallationsService,
    InstallationAccesses,
    InstallationWriter,
    InstallationsRepository,
    PushQueryDatabase,
    ReadInstallationsService,
    RegisterInstallationService,
  ],
  exports: [PushQueryDatabase],
})
export class InstallationsModule {}
