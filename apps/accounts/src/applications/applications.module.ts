import { Module } from '@nestjs/common';
import { Readiness } from '#observability';
import { ApplicationsController } from './applications.controller.js';
import { ApplicationsRepository } from './applications.repository.js';
import { ApplicationsService } from './applications.service.js';
import { FirstApplication } from './first-application.js';

@Module({
  controllers: [ApplicationsController],
  providers: [ApplicationsService, ApplicationsRepository, FirstApplication],
  exports: [ApplicationsService, FirstApplication],
})
export class ApplicationsModule {
  constructor(readiness: Readiness, applications: ApplicationsService) {
    readiness.registerFitness('secret', () => applications.assertSecretFits());
  }
}
