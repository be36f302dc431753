import { Controller, type DynamicModule, Get, Header, HttpStatus, Injectable, Module, Res } from '@nestjs/common';
import { AppError, withTimeout } from '#errors';
import { Metrics } from './metrics.js';
import { ProcessInfo } from './process-info.js';

/** Resolves when the part can serve; rejects with the reason, worded for operators. */
type ReadinessCheck = () => Promise<void> | void;

const CHECK_TIMEOUT_MS = 2_000;

/** The readiness of this process. Parts register their checks; draining overrides all of them. */
@Injectable()
export class Readiness {
  readonly #checks = new Map<string, ReadinessCheck>();
  #draining = false;

  /** Registers a check under the name of the checked part. */
  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /** From now on the process reports "draining". */
  startDraining(): void {
    this.#draining = true;
  }

  /** The reasons why the process cannot serve now; empty when it can. */
  async problems(): Promise<string[]> {
    if (this.#draining) return ['draining'];
    const outcomes = await Promise.all([...this.#checks].map(([name, check]) => this.#problemOf(name, check)));
    return outcomes.filter((problem) => problem !== undefined);
  }

  #problemOf(name: string, check: ReadinessCheck): Promise<string | undefined> {
    const outcome = Promise.resolve()
      .then(check)
      .then(() => undefined)
      .catch((error: unknown) => `${name}: ${reasonOf(error)}`);
    return withTimeout(outcome, CHECK_TIMEOUT_MS, () => `${name}: no answer`);
  }
}

/** Only plain errors and AppErrors have texts for operators; other errors may reveal internal details, so their text is not shown. */
function reasonOf(error: unknown): string {
  const isForOperators = error instanceof AppError || (error instanceof Error && error.name === 'Error');
  return isForOperators ? error.message : 'failed';
}

interface StatusReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
}

/** Endpoints for orchestrators and Prometheus. */
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

  /** Liveness. */
  @Get('healthz')
  healthz(): { status: string } {
    return { status: 'ok' };
  }

  /** Readiness: 503 with the reasons while the process cannot serve, and while it drains. */
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

/** Health, readiness and metrics of one process. */
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
