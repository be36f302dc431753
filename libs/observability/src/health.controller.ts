import { Controller, Get, Header, HttpStatus, Res } from '@nestjs/common';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

interface StatusReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
}

/** What orchestrators and Prometheus ask of every process. */
@Controller()
export class HealthController {
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

  /** The process is alive. */
  @Get('healthz')
  healthz(): { status: string } {
    return { status: 'ok' };
  }

  /** The process can serve; 503 with the reasons until it can, and while it drains. */
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
