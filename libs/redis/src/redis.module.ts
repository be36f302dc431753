import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics, ProcessFacts, Readiness, type ServerFacts, skewOf } from '#observability';
import { Redis, type RedisOptions } from './redis.js';

const REDIS_MODULE_OPTIONS = Symbol('RedisModuleOptions');

export interface RedisModuleOptions extends RedisOptions {
  /** Whether /readyz says that the process cannot serve without Redis. */
  readonly isRequired: boolean;
}

/** Gives a service its `Redis`. */
@Module({})
export class RedisModule implements OnApplicationShutdown {
  constructor(
    private readonly redis: Redis,
    @Inject(REDIS_MODULE_OPTIONS) { isRequired }: RedisModuleOptions,
    readiness: Readiness,
    metrics: Metrics,
    facts: ProcessFacts,
  ) {
    metrics.sample({
      gauges: [metrics.redisConnected, metrics.redisInFlight],
      read: () => {
        metrics.redisConnected.set(redis.isConnected ? 1 : 0);
        metrics.redisInFlight.set(redis.inFlight);
      },
    });
    facts.server('redis', () => this.describe());
    if (isRequired) readiness.register('redis', () => redis.ping());
  }

  static forRoot(options: RedisModuleOptions): DynamicModule {
    return {
      module: RedisModule,
      global: true,
      providers: [
        { provide: REDIS_MODULE_OPTIONS, useValue: options },
        { provide: Redis, useFactory: (metrics: Metrics) => new Redis(options, metrics), inject: [Metrics] },
      ],
      exports: [Redis],
    };
  }

  private async describe(): Promise<ServerFacts> {
    const asked = Date.now();
    const { info, time } = await this.redis.describe();
    const settings = {
      maxmemoryPolicy: info.get('maxmemory_policy') ?? '',
      appendOnly: info.get('aof_enabled') === '1' ? 'yes' : 'no',
    };
    return { version: info.get('redis_version') ?? '', skewMs: skewOf(time, asked, Date.now()), settings };
  }

  onApplicationShutdown(): void {
    this.redis.close();
  }
}
