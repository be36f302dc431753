import { Module } from '@nestjs/common';
import { ApplicationsModule } from '../applications/applications.module.js';
import { ObjectsModule } from '../objects/objects.module.js';
import { LockoutReportController } from './lockout-report.controller.js';
import { LockoutReportService } from './lockout-report.service.js';

/** What operators are told of locked users. */
@Module({
  imports: [ApplicationsModule, ObjectsModule],
  controllers: [LockoutReportController],
  providers: [LockoutReportService],
})
export class LockoutReportModule {}
