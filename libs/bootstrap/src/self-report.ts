import { hostname } from 'node:os';
import { Controller, type DynamicModule, Inject, Injectable, Module, type Type } from '@nestjs/common';
import { type ProcessReport, type RpcContract, type RpcData, type RpcReply, selfReportRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { ProcessFacts, Readiness } from '#observability';
import { Clock } from './clock.js';

/** What of a process is known from its start. */
interface ProcessIdentity {
  readonly service: string;
  readonly version: string;
  readonly isProduction: boolean;
}

/** DI token of `ProcessIdentity`. */
const PROCESS_IDENTITY = Symbol('ProcessIdentity');

@Injectable()
class SelfReportService {
  constructor(
    @Inject(PROCESS_IDENTITY) private readonly identity: ProcessIdentity,
    private readonly facts: ProcessFacts,
    private readonly readiness: Readiness,
    private readonly clock: Clock,
  ) {}

  async make(): Promise<ProcessReport> {
    const [problems, servers] = await Promise.all([this.readiness.problems(), this.facts.servers()]);
    return {
      ...this.identity,
      instance: this.facts.instance,
      host: hostname(),
      pid: process.pid,
      node: process.versions.node,
      now: this.clock.now().toISOString(),
      problems,
      servers: servers.map(({ facts, ...server }) => ({ ...server, facts: facts === null ? null : { ...facts } })),
      settings: this.facts.settings(),
    };
  }
}

type Examine = typeof selfReportRpc.accounts;

/** A controller that answers for one service. */
function answering(contract: Examine): Type {
  @Controller()
  class SelfReportController {
    constructor(private readonly report: SelfReportService) {}

    @RpcHandler(contract)
    examine(_: RpcData<Examine>): Promise<RpcReply<Examine>> {
      return this.report.make();
    }
  }
  return SelfReportController;
}

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
