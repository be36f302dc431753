import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Database } from '#database';
import { Redis } from '#redis';
import { LOCKOUT_LIMITS } from './lockout.rules.js';
import { LOCKOUT_STORE, LockoutService, LoginAttemptLimiter } from './lockout.service.js';
import { PostgresLockoutStore } from './postgres-lockout.store.js';
import { RedisLockoutStore } from './redis-lockout.store.js';

/** The store of failures: Redis for several processes, PostgreSQL for one. */
export type LockoutStorage = 'redis' | 'postgresql';

const MAX_WAITING = 1_000;
/** Below the timeouts of clients and of their RPC. */
const MAX_WAIT_MS = 3_000;

const STORES: Readonly<Record<LockoutStorage, Provider>> = {
  redis: {
    provide: LOCKOUT_STORE,
    inject: [Redis],
    useFactory: (redis: Redis) => new RedisLockoutStore(redis, LOCKOUT_LIMITS),
  },
  postgresql: {
    provide: LOCKOUT_STORE,
    inject: [Database],
    useFactory: (database: Database) => new PostgresLockoutStore(database, LOCKOUT_LIMITS),
  },
};

/** The lockout of users, for all login methods. */
@Module({})
export class LockoutModule {
  static forRoot(storage: LockoutStorage): DynamicModule {
    const limits = { concurrency: LOCKOUT_LIMITS.lockingFailure, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS };
    return {
      module: LockoutModule,
      global: true,
      providers: [
        STORES[storage],
        LockoutService,
        { provide: LoginAttemptLimiter, useFactory: () => new LoginAttemptLimiter(limits) },
      ],
      exports: [LockoutService],
    };
  }
}
