import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics, ProcessInfo, Readiness, type ServerInfo, skewOf } from '#observability';
import { Redis, type RedisDescription, type RedisOptions } from './redis.js';

const REDIS_MODULE_OPTIONS = Symbol('RedisModuleOptions');

interface RedisModuleOptions extends RedisOptions {
  /** Whether /readyz reports an unavailable Redis as a problem of the process. */
  readonly isRequired: boolean;
}

/** Provides the `Redis` of a service. */
@Module({})
export class RedisModule implements OnApplicationShutdown {
  constructor(
    private readonly redis: Redis,
    @Inject(REDIS_MODULE_OPTIONS) { isRequired }: RedisModuleOptions,
    readiness: Readiness,
    metrics: Metrics,
    facts: ProcessInfo,
  ) {
    metrics.sample({
      gauges: [metrics.redisConnected, metrics.redisInFlight],
      read: () => {
        metrics.redisConnected.set(redis.isConnected ? 1 : 0);
        metrics.redisInFlight.set(redis.inFlight);
      },
    });
    facts.serversOf(() => this.servers());
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

  /** By address where there is more than one server. */
  private servers(): ReadonlyMap<string, () => Promise<ServerInfo>> {
    const servers = [...this.redis.servers()];
    if (servers.length === 0) return new Map([['redis', () => Promise.reject(new Error('not connected'))]]);
    return new Map(
      servers.map(([address, describe]) => [
        servers.length === 1 ? 'redis' : `redis ${address}`,
        () => factsFrom(describe),
      ]),
    );
  }

  onApplicationShutdown(): void {
    this.redis.close();
  }
}

async function factsFrom(describe: () => Promise<RedisDescription>): Promise<ServerInfo> {
  const asked = Date.now();
  const { info, time } = await describe();
  const settings = {
    maxmemoryPolicy: info.get('maxmemory_policy') ?? '',
    appendOnly: info.get('aof_enabled') === '1' ? 'yes' : 'no',
  };
  return { version: info.get('redis_version') ?? '', skewMs: skewOf(time, asked, Date.now()), settings };
}
