import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { MemoryRequestCounter } from '#admission';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { FallbackRequestCounter, RedisRequestCounter } from './redis-request-counter.store.js';
import { RATE_LIMITS, type RateLimits, REQUEST_COUNTER, RequestLimits } from './request-limits.js';

/** The storage of request counts: Redis for several gateways, memory for a single one. */
export type RequestCountStorage = 'redis' | 'memory';

const COUNTERS: Readonly<Record<RequestCountStorage, Provider>> = {
  redis: {
    provide: REQUEST_COUNTER,
    inject: [Redis, Metrics],
    useFactory: (redis: Redis, metrics: Metrics) =>
      new FallbackRequestCounter(new RedisRequestCounter(redis), new MemoryRequestCounter(), metrics),
  },
  memory: { provide: REQUEST_COUNTER, useFactory: () => new MemoryRequestCounter() },
};

/** Rate limits by application and client address. */
@Module({})
export class RateLimitsModule {
  static forRoot(limits: RateLimits, storage: RequestCountStorage): DynamicModule {
    return {
      module: RateLimitsModule,
      providers: [{ provide: RATE_LIMITS, useValue: limits }, COUNTERS[storage], RequestLimits],
      exports: [RequestLimits],
    };
  }
}
