import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { reasonOf } from '#errors';
import { Metrics, ProcessInfo, Readiness, type ServerInfo, skewOf, UnfitError } from '#observability';
import { type DatabaseOptions, ServiceDataSource } from './data-source.js';
import { Database, registerPoolMetrics } from './database.js';
import { isMigrated } from './migrate.js';

/** Token of the options, private to one of several databases of a process. */
const OWN_OPTIONS = Symbol('DatabaseOptions');
const OWN_DATABASE = Symbol('OwnDatabase');

@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    @Inject(OWN_DATABASE) private readonly database: Database,
    @Inject(OWN_OPTIONS) private readonly options: DatabaseOptions,
    readiness: Readiness,
    metrics: Metrics,
    processInfo: ProcessInfo,
  ) {
    registerPoolMetrics(database, options.schema, metrics);
    processInfo.server(`postgresql (${options.schema})`, () => this.#describe());
    readiness.registerFitness(`postgresql (${options.schema})`, () => this.#check());
  }

  /** @param token a subclass of `Database` where services can share a process, so that each module has its own pool */
  static forRoot(options: DatabaseOptions, token: typeof Database = Database): DynamicModule {
    const name = options.schema;
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          name,
          useFactory: () => ({ type: 'postgres' }),
          dataSourceFactory: () => new ServiceDataSource(options).initialize(),
        }),
        TypeOrmModule.forFeature([...(options.entities ?? [])], name),
      ],
      providers: [
        { provide: OWN_OPTIONS, useValue: options },
        {
          provide: token,
          inject: [getDataSourceToken(name)],
          useFactory: (dataSource: ServiceDataSource) => new token(options, dataSource),
        },
        { provide: OWN_DATABASE, useExisting: token },
      ],
      exports: [token, TypeOrmModule],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }

  async #describe(): Promise<ServerInfo> {
    const asked = Date.now();
    const [row] = await this.database.query<{ version: string; now: Date; readOnly: string }>(
      `SELECT current_setting('server_version') AS version, clock_timestamp()::timestamptz(3) AS now,
              current_setting('transaction_read_only') AS "readOnly"`,
    );
    const skewMs = skewOf(row?.now.getTime() ?? asked, asked, Date.now());
    return { version: row?.version ?? '', skewMs, settings: { readOnly: row?.readOnly ?? '' } };
  }

  async #check(): Promise<void> {
    await this.database.query('SELECT 1');
    const { schema } = this.options;
    // The check shows the texts of plain errors only.
    const isReady = await isMigrated(this.database, this.options).catch((error: unknown) => {
      throw new Error(`the migrations of schema ${schema} cannot be read: ${reasonOf(error)}`, { cause: error });
    });
    if (!isReady) throw new UnfitError(`schema ${schema} is not migrated: run "npm run gatepost -- migrate"`);
  }
}
