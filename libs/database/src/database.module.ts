import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Readiness } from '#observability';
import { Database } from './database.js';
import type { DatabaseOptions } from './database-options.js';
import { isMigrated } from './migrate.js';

const DATABASE_OPTIONS = Symbol('DatabaseOptions');

/** Gives a service its `Database`, and says in /readyz while it cannot be used. */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly database: Database,
    @Inject(DATABASE_OPTIONS) private readonly options: DatabaseOptions,
    readiness: Readiness,
  ) {
    readiness.register('postgresql', () => this.check());
  }

  static forRoot(options: DatabaseOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        { provide: DATABASE_OPTIONS, useValue: options },
        { provide: Database, useFactory: () => new Database(options) },
      ],
      exports: [Database],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }

  private async check(): Promise<void> {
    await this.database.query('SELECT 1');
    if (!(await isMigrated(this.database, this.options).catch(() => false)))
      throw new Error(`schema ${this.options.schema} is not migrated: run "npm run gatepost -- migrate"`);
  }
}
