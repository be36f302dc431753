import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type Provider,
  type Type,
} from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { FieldIndexesRpc, ObjectImportRpc, ObjectsRpc } from '#contracts';
import { Database, type DatabaseOptions, registerPoolMetrics } from '#database';
import { Metrics } from '#observability';
import { FieldIndexes, fieldIndexesRpcController, IndexBuilder } from './field-indexes.js';
import { FieldIndexesRepository } from './field-indexes.repository.js';
import { AccessSource, ObjectAccess } from './object-access.js';
import { objectImportController, ObjectImports } from './object-imports.js';
import { ObjectReader } from './object-reader.js';
import { ObjectWriter } from './object-writer.js';
import { ObjectRepository, type ObjectStorage } from './object.repository.js';
import { ObjectRequests, OBJECTS_DATABASE, objectsRpcController } from './objects.controller.js';
import { QueryDatabase } from './query-database.js';
import { SlowQueries } from './slow-queries.js';
import { StoredClasses } from './stored-classes.js';

export interface ObjectsSettings {
  /** The service's database. Queries of clients get half as many connections of their own. */
  readonly database: DatabaseOptions;
  readonly limitBytes: number;
}

interface ObjectsService {
  readonly name: string;
  readonly contract: ObjectsRpc;
  readonly indexes: FieldIndexesRpc;
  readonly imports: ObjectImportRpc;
  readonly access: Type<AccessSource>;
  readonly modules?: NonNullable<ModuleMetadata['imports']>;
  readonly settings: Pick<FactoryProvider<ObjectsSettings>, 'useFactory' | 'inject'>;
  readonly databaseToken: InjectionToken<Database>;
}

const SETTINGS = Symbol('ObjectsSettings');
const REPOSITORY = Symbol('ObjectRepository');

const READING: readonly Provider[] = [
  {
    provide: ObjectAccess,
    useFactory: (source: AccessSource, classes: StoredClasses) => new ObjectAccess(source, classes),
    inject: [AccessSource, StoredClasses],
  },
  {
    provide: ObjectReader,
    useFactory: (...parts: ConstructorParameters<typeof ObjectReader>) => new ObjectReader(...parts),
    inject: [ObjectAccess, StoredClasses, FieldIndexes, SlowQueries],
  },
];

const IMPORTING: Provider = {
  provide: ObjectImports,
  useFactory: (classes: StoredClasses, database: Database, { limitBytes }: ObjectsSettings) =>
    new ObjectImports(classes, database, limitBytes),
  inject: [StoredClasses, OBJECTS_DATABASE, SETTINGS],
};

const INDEXING: readonly Provider[] = [
  {
    provide: FieldIndexesRepository,
    useFactory: (database: Database, settings: ObjectsSettings) =>
      new FieldIndexesRepository(database, settings.database.schema),
    inject: [OBJECTS_DATABASE, SETTINGS],
  },
  {
    provide: FieldIndexes,
    useFactory: (repository: FieldIndexesRepository, classes: StoredClasses) => new FieldIndexes(repository, classes),
    inject: [FieldIndexesRepository, StoredClasses],
  },
  {
    provide: SlowQueries,
    useFactory: (database: Database, settings: ObjectsSettings) => new SlowQueries(database, settings.database.schema),
    inject: [OBJECTS_DATABASE, SETTINGS],
  },
  {
    provide: IndexBuilder,
    useFactory: (
      database: Database,
      settings: ObjectsSettings,
      repository: FieldIndexesRepository,
      classes: StoredClasses,
    ) => new IndexBuilder(repository, classes, { ...settings.database, poolSize: 1 }, database),
    inject: [OBJECTS_DATABASE, SETTINGS, FieldIndexesRepository, StoredClasses],
  },
];

/** A module of a class registers it in `StoredClasses`, or is made by `forClass`. */
@Module({})
export class ObjectsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly builder: IndexBuilder,
    private readonly slowQueries: SlowQueries,
  ) {}

  static forService(service: ObjectsService): DynamicModule {
    return {
      module: ObjectsModule,
      imports: service.modules ?? [],
      controllers: [
        objectsRpcController(service.contract),
        fieldIndexesRpcController(service.indexes),
        objectImportController(service.imports),
      ],
      providers: [
        Clock,
        StoredClasses,
        ObjectRequests,
        { provide: AccessSource, useClass: service.access },
        { provide: SETTINGS, inject: [], ...service.settings },
        { provide: OBJECTS_DATABASE, useExisting: service.databaseToken },
        {
          provide: QueryDatabase,
          inject: [SETTINGS, Metrics],
          useFactory: (settings: ObjectsSettings, metrics: Metrics) => queryDatabaseOf(service.name, settings, metrics),
        },
        ...READING,
        ...INDEXING,
        IMPORTING,
      ],
      exports: [FieldIndexes, ObjectAccess, ObjectReader, OBJECTS_DATABASE, QueryDatabase, SETTINGS, StoredClasses],
    };
  }

  static forClass(
    service: DynamicModule,
    storage: ObjectStorage & Pick<RegisteredClass, 'objectClass'>,
  ): DynamicModule {
    return {
      module: ObjectClassModule,
      imports: [service],
      providers: [
        Clock,
        {
          provide: REPOSITORY,
          inject: [StoredClasses, ObjectAccess, OBJECTS_DATABASE, QueryDatabase, SETTINGS, Clock],
          useFactory: (...parts: EngineParts) => register(storage, parts),
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.builder.start();
    this.slowQueries.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.builder.stop(), this.slowQueries.stop()]);
  }
}

type RegisteredClass = Parameters<StoredClasses['register']>[0];

@Module({})
class ObjectClassModule {}

type EngineParts = [StoredClasses, ObjectAccess, Database, QueryDatabase, ObjectsSettings, Clock];

function register(
  storage: ObjectStorage & Pick<RegisteredClass, 'objectClass'>,
  [classes, access, database, queries, { limitBytes }, clock]: EngineParts,
): ObjectRepository {
  const { objectClass } = storage;
  const objects = new ObjectRepository(storage, database, queries);
  const writes = new ObjectWriter({ objectClass, objects, access, clock, limitBytes });
  classes.register({ objectClass, objects, writes });
  return objects;
}

function queryDatabaseOf(name: string, { database }: ObjectsSettings, metrics: Metrics): QueryDatabase {
  const queries = new QueryDatabase({
    ...database,
    poolSize: Math.ceil(database.poolSize / 2),
    applicationName: `gatepost-${name}-queries`,
  });
  registerPoolMetrics(queries, `${name}-queries`, metrics);
  registerPoolMetrics(queries.indexed, `${name}-indexed-queries`, metrics);
  return queries;
}
