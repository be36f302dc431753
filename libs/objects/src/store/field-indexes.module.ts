import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { FieldIndexesRpc } from '#contracts';
import { Database, type DatabaseOptions } from '#database';
import { answering } from './field-indexes.controller.js';
import { type FieldIndexed, FieldIndexes } from './field-indexes.js';
import { FieldIndexesRepository } from './field-indexes.repository.js';
import { IndexBuilder } from './index-builder.js';
import { SlowQueries } from './slow-queries.js';

const DATABASE_OPTIONS = Symbol('DatabaseOptions');

/** A service whose classes can have indexes of custom fields. */
interface IndexedService {
  readonly classes: FieldIndexed;
  /** The RPCs for operators. */
  readonly contract: FieldIndexesRpc;
  readonly databaseOptions: Pick<FactoryProvider<DatabaseOptions>, 'useFactory' | 'inject'>;
  /** The token of the service's database. */
  readonly databaseToken: typeof Database;
}

/** Indexes of custom fields in one service: use in queries, the builder, and the RPCs for operators. */
@Module({})
export class FieldIndexesModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly builder: IndexBuilder,
    private readonly questions: SlowQueries,
  ) {}

  static forService({ classes, contract, databaseOptions, databaseToken }: IndexedService): DynamicModule {
    const inject = [databaseToken, DATABASE_OPTIONS];
    return {
      module: FieldIndexesModule,
      controllers: [answering(contract)],
      providers: [
        { provide: DATABASE_OPTIONS, inject: [], ...databaseOptions },
        {
          provide: FieldIndexesRepository,
          useFactory: (database: Database, { schema }: DatabaseOptions) => new FieldIndexesRepository(database, schema),
          inject,
        },
        {
          provide: FieldIndexes,
          useFactory: (repository: FieldIndexesRepository) => new FieldIndexes(repository, classes),
          inject: [FieldIndexesRepository],
        },
        {
          provide: SlowQueries,
          useFactory: (database: Database, { schema }: DatabaseOptions) => new SlowQueries(database, schema),
          inject,
        },
        {
          provide: IndexBuilder,
          useFactory: (database: Database, options: DatabaseOptions, repository: FieldIndexesRepository) =>
            new IndexBuilder(repository, classes, options, database),
          inject: [...inject, FieldIndexesRepository],
        },
      ],
      exports: [FieldIndexes, SlowQueries],
    };
  }

  onApplicationBootstrap(): void {
    this.builder.start();
    this.questions.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.builder.stop(), this.questions.stop()]);
  }
}
