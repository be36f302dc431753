import type { RequestCount, RequestCounter } from '#admission';
import { AppError } from '#errors';
import type { Metrics } from '#observability';

/** Counts in what all share, and, while that is away, alone: a limit per process is better than none, or than no service. */
export class FallbackRequestCounter implements RequestCounter {
  constructor(
    private readonly shared: RequestCounter,
    private readonly own: RequestCounter,
    private readonly metrics: Metrics,
  ) {}

  async count(key: string, windowSeconds: number): Promise<RequestCount> {
    try {
      return await this.shared.count(key, windowSeconds);
    } catch (error) {
      if (!(error instanceof AppError && error.is('SERVICE_UNAVAILABLE'))) throw error;
      this.metrics.rateLimitFallbacks.inc();
      return this.own.count(key, windowSeconds);
    }
  }
}
