import { hostname } from 'node:os';
import { Controller, type DynamicModule, Inject, Injectable, Module, type Type } from '@nestjs/common';
import { diagnosticsRpc, type ProcessReport, type RpcContract, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { ProcessInfo, Readiness } from '#observability';
import { Clock } from './periodic-job.js';

interface ProcessIdentity {
  readonly service: string;
  readonly version: string;
  readonly isProduction: boolean;
}

const PROCESS_IDENTITY = Symbol('ProcessIdentity');

@Injectable()
class DiagnosticsService {
  constructor(
    @Inject(PROCESS_IDENTITY) private readonly identity: ProcessIdentity,
    private readonly processInfo: ProcessInfo,
    private readonly readiness: Readiness,
    private readonly clock: Clock,
  ) {}

  async report(): Promise<ProcessReport> {
    const [problems, servers] = await Promise.all([this.readiness.problems(), this.processInfo.servers()]);
    return {
      ...this.identity,
      instance: this.processInfo.instance,
      host: hostname(),
      pid: process.pid,
      node: process.versions.node,
      now: this.clock.now().toISOString(),
      problems,
      servers: servers.map(({ facts, ...server }) => ({ ...server, facts: facts === null ? null : { ...facts } })),
      settings: this.processInfo.settings(),
    };
  }
}

/** All contracts of `diagnosticsRpc` have the type of this one. */
type DiagnosticsContract = typeof diagnosticsRpc.accounts;

function controllerFor(contract: DiagnosticsContract): Type {
  @Controller()
  class DiagnosticsController {
    constructor(private readonly diagnostics: DiagnosticsService) {}

    @RpcHandler(contract)
    report(_: RpcData<DiagnosticsContract>): Promise<RpcReply<DiagnosticsContract>> {
      return this.diagnostics.report();
    }
  }
  return DiagnosticsController;
}

@Module({})
export class DiagnosticsModule {
  /** @param services the services whose RPCs the process receives; a process without any cannot be reached by RPC */
  static forServices(services: readonly string[], identity: ProcessIdentity): DynamicModule {
    const contracts: readonly RpcContract[] = Object.values(diagnosticsRpc);
    const served = contracts.filter(({ pattern }) => services.some((service) => pattern === `${service}.diagnose`));
    return {
      module: DiagnosticsModule,
      controllers: served.map((contract) => controllerFor(contract as DiagnosticsContract)),
      providers: [{ provide: PROCESS_IDENTITY, useValue: identity }, DiagnosticsService, Clock],
    };
  }
}
