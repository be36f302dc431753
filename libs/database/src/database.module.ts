import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Readiness } from '#observability';
import { createDataSource, type DatabaseOptions } from './data-source.js';
import { Database } from './database.js';

const RECONNECT_MS = 1_000;

/** Gives a service its `Database`. It connects in the background and says in /readyz while it cannot. */
@Module({})
export class DatabaseModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('PostgreSQL');
  private isClosing = false;
  private connecting: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly readiness: Readiness,
    @Inject('DatabaseOptions') private readonly options: DatabaseOptions,
  ) {}

  static forRoot(options: DatabaseOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        { provide: 'DatabaseOptions', useValue: options },
        { provide: Database, useFactory: () => new Database(createDataSource(options)) },
      ],
      exports: [Database],
    };
  }

  /** Waits for the first attempt only: a database that is there is used at once, one that is away stops no start. */
  async onApplicationBootstrap(): Promise<void> {
    this.readiness.register('postgresql', () => this.check());
    if (!(await this.tryToConnect())) this.connecting = this.keepConnecting();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    await this.connecting;
    if (this.database.dataSource.isInitialized) await this.database.dataSource.destroy();
  }

  private async check(): Promise<void> {
    await this.database.query('SELECT 1');
    // It fails where not even the schema is there yet.
    const isPending = await this.database.dataSource.showMigrations().catch(() => true);
    if (isPending) throw new Error(`schema ${this.options.schema} is not migrated: run "npm run gatepost -- migrate"`);
  }

  private async keepConnecting(): Promise<void> {
    while (!this.isClosing) {
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      if (await this.tryToConnect()) return;
    }
  }

  private async tryToConnect(): Promise<boolean> {
    try {
      await this.database.dataSource.initialize();
      return true;
    } catch (error) {
      this.logger.warn(`cannot connect: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }
}
