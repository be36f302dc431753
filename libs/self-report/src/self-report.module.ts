import { type DynamicModule, Module } from '@nestjs/common';
import { Clock } from '#clock';
import { type RpcContract, selfReportRpc } from '#contracts';
import { PROCESS_IDENTITY, type ProcessIdentity, SelfReportService } from './self-report.service.js';
import { answering } from './self-report.controller.js';

/** Lets operators ask a process how it is. */
@Module({})
export class SelfReportModule {
  /** @param services whose RPCs the process receives; one that receives none cannot be asked */
  static forServices(services: readonly string[], identity: ProcessIdentity): DynamicModule {
    const contracts: readonly RpcContract[] = Object.values(selfReportRpc);
    const asked = contracts.filter(({ pattern }) => services.some((service) => pattern === `${service}.examine`));
    return {
      module: SelfReportModule,
      controllers: asked.map((contract) => answering(contract as typeof selfReportRpc.accounts)),
      providers: [{ provide: PROCESS_IDENTITY, useValue: identity }, SelfReportService, Clock],
    };
  }
}
