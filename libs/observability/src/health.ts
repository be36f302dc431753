import { randomUUID } from 'node:crypto';
import { Controller, type DynamicModule, Get, Header, HttpStatus, Injectable, Module, Res } from '@nestjs/common';
import { AppError, reasonOf, withTimeout } from '#errors';
import { Metrics } from './metrics.js';

export interface ServerInfo {
  readonly version: string;
  readonly skewMs: number;
  readonly settings?: Readonly<Record<string, string>>;
}

interface ServerReport {
  readonly name: string;
  readonly problem: string | null;
  readonly facts: ServerInfo | null;
}

type Setting = string | number | boolean | null;

const ANSWER_TIMEOUT_MS = 3_000;

/** Collects diagnostics of a process for operators. Parts register their properties; none of them is secret. */
@Injectable()
export class ProcessInfo {
  readonly instance = randomUUID();
  readonly #servers: (() => ReadonlyMap<string, () => Promise<ServerInfo>>)[] = [];
  readonly #settings = new Map<string, () => Setting>();

  server(name: string, ask: () => Promise<ServerInfo>): void {
    this.serversOf(() => new Map([[name, ask]]));
  }

  /** Servers of a group whose members change. @param list returns the current members, each with the request for its properties */
  serversOf(list: () => ReadonlyMap<string, () => Promise<ServerInfo>>): void {
    this.#servers.push(list);
  }

  setting(name: string, value: () => Setting): void {
    this.#settings.set(name, value);
  }

  servers(): Promise<ServerReport[]> {
    return Promise.all(
      this.#servers
        .flatMap((list) => [...list()])
        .map(async ([name, ask]) => {
          try {
            return { name, problem: null, facts: await withTimeout(ask(), ANSWER_TIMEOUT_MS, throwNoAnswer) };
          } catch (error) {
            return { name, problem: reasonOf(error), facts: null };
          }
        }),
    );
  }

  settings(): Record<string, Setting> {
    return Object.fromEntries([...this.#settings].map(([name, value]) => [name, value()]));
  }
}

/** The process would fail at work that other replicas can do, so it must not receive any. A server that is away is away from all. */
export class UnfitError extends Error {}

type ReadinessCheck = () => Promise<void> | void;

/** Whether the process may receive work; unknown while a check that decides it has no result, as where its server is away. */
type Fitness = 'fit' | 'unfit' | 'unknown';

interface Problem {
  readonly text: string;
  readonly fitness: Fitness;
}

const CHECK_TIMEOUT_MS = 2_000;

/** The readiness of this process. Parts register their checks; draining overrides all of them. */
@Injectable()
export class Readiness {
  /** With the fitness where a check has no result. */
  readonly #checks = new Map<string, { readonly check: ReadinessCheck; readonly unproven: Fitness }>();
  #draining = false;

  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, { check, unproven: 'fit' });
  }

  /** Registers a check that can throw `UnfitError`: a process that starts receives no work until the check passes. */
  registerFitness(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, { check, unproven: 'unknown' });
  }

  startDraining(): void {
    this.#draining = true;
  }

  /** The reasons why the process cannot serve now; empty when it can. @param timeoutMs for the answer of each part */
  async problems(timeoutMs = CHECK_TIMEOUT_MS): Promise<string[]> {
    if (this.#draining) return ['draining'];
    return (await this.#diagnose(timeoutMs)).map(({ text }) => text);
  }

  /** A draining process starts to receive nothing. */
  async fitness(): Promise<Fitness> {
    if (this.#draining) return 'unfit';
    const found = new Set((await this.#diagnose(CHECK_TIMEOUT_MS)).map(({ fitness }) => fitness));
    if (found.has('unfit')) return 'unfit';
    return found.has('unknown') ? 'unknown' : 'fit';
  }

  async #diagnose(timeoutMs: number): Promise<Problem[]> {
    const outcomes = await Promise.all(
      [...this.#checks].map(async ([name, { check, unproven }]) => {
        const failure = await failureOf(check, timeoutMs);
        if (failure === undefined) return undefined;
        const fitness = failure instanceof UnfitError ? 'unfit' : unproven;
        return { text: `${name}: ${textOf(failure)}`, fitness };
      }),
    );
    return outcomes.filter((problem) => problem !== undefined);
  }
}

function failureOf(check: ReadinessCheck, timeoutMs: number): Promise<unknown> {
  const outcome = Promise.resolve()
    .then(check)
    .then(() => undefined)
    .catch((error: unknown) => error ?? new Error('failed'));
  return withTimeout(outcome, timeoutMs, () => new Error('no answer'));
}

/** Only plain errors and the reasons of AppErrors are texts for operators; other errors may reveal internal details, so their text is not shown. */
function textOf(error: unknown): string {
  const isForOperators = error instanceof AppError || (error instanceof Error && error.name === 'Error');
  return isForOperators ? reasonOf(error) : 'failed';
}

interface StatusReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
}

@Controller()
class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {
    metrics.sample({
      gauges: [metrics.ready],
      read: async () => {
        metrics.ready.set((await readiness.problems()).length === 0 ? 1 : 0);
      },
    });
  }

  @Get('healthz')
  healthz(): { status: string } {
    return { status: 'ok' };
  }

  @Get('readyz')
  async readyz(@Res({ passthrough: true }) reply: StatusReply): Promise<{ status: string; problems?: string[] }> {
    const problems = await this.readiness.problems();
    if (problems.length === 0) return { status: 'ready' };
    reply.code(HttpStatus.SERVICE_UNAVAILABLE);
    reply.header('retry-after', '1');
    return { status: 'unavailable', problems };
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  async exposeMetrics(): Promise<string> {
    return this.metrics.expose();
  }
}

@Module({})
export class ObservabilityModule {
  static forRoot(metrics: Metrics): DynamicModule {
    return {
      module: ObservabilityModule,
      global: true,
      controllers: [HealthController],
      providers: [ProcessInfo, Readiness, { provide: Metrics, useValue: metrics }],
      exports: [ProcessInfo, Readiness, Metrics],
    };
  }
}

/** How far a clock is ahead that returned `at` between two local times. @param asked local time of the request, by `Date.now()` */
export function skewOf(at: number, asked: number, answered: number): number {
  return Math.round(at - (asked + answered) / 2);
}

function throwNoAnswer(): never {
  throw new Error('no answer');
}
