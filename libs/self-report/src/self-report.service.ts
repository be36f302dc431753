import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#clock';
import type { ProcessReport } from '#contracts';
import { ProcessFacts, Readiness } from '#observability';

/** What of a process is known from its start. */
export interface ProcessIdentity {
  readonly service: string;
  readonly version: string;
  readonly isProduction: boolean;
}

/** DI token of `ProcessIdentity`. */
export const PROCESS_IDENTITY = Symbol('ProcessIdentity');

@Injectable()
export class SelfReportService {
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
