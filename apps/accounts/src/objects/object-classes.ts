import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Caller, ClassName, JsonObject, ObjectWrite, Principal } from '#contracts';
import { registerPoolMetrics, type Tx } from '#database';
import type { Acl, CompiledCount, CompiledFind, QueryClass, QueryScope } from '#objects';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';

/** The classes whose objects this service stores. */
export type StoredClassName = Exclude<ClassName, '_Installation'>;

/** A class as the engine sees it. The module of the class registers it. */
interface StoredClass {
  readonly className: StoredClassName;
  readonly objects: ObjectReader;
  /** The fields that queries may name. `hideContact` removes the contact data. */
  queryClass(view: { readonly hideContact: boolean }): QueryClass;
  prepareWrite(caller: Caller, write: IdentifiedWrite): Promise<PreparedWrite<JsonObject>>;
}

/** Reads the objects of one class. */
export interface ObjectReader {
  find(query: CompiledFind): Promise<ReadObject[]>;
  count(query: CompiledCount): Promise<number>;
  findMany(appId: string, objectIds: readonly string[]): Promise<ReadObject[]>;
  /** Locks the objects in the order of their ids until the transaction ends. */
  lockMany(tx: Tx, appId: string, objectIds: readonly string[]): Promise<void>;
}

/** A stored object, before its fields are filtered for a caller. */
export interface ReadObject {
  readonly objectId: string;
  readonly acl: Acl | null;
  /** The public JSON as this caller sees it. */
  present(context: ReadContext): JsonObject;
}

/** The read access of one caller: which objects it can find and get, and which fields it sees. Resolved once per request. */
export interface ReadContext {
  readonly scope: QueryScope;
  /** Undefined for the master key. */
  readonly principal: Principal | undefined;
  /** The caller does not see the contact data of other users. */
  readonly hideContact: boolean;
  /** Show ACLs to every caller (`returnACL=true`). */
  readonly returnAcl: boolean;
  mayGet(className: ClassName): boolean;
  /** The fields of a class that conditions may name, whether or not the class permission allows the caller to find. */
  queryClassOf(className: StoredClassName): QueryClass;
}

/** A write whose object has an id, new or not. */
interface IdentifiedWrite extends ObjectWrite {
  readonly id: string;
}

/**
 * A write that is validated as far as possible without its object, with passwords hashed. The rest is quick and runs in a
 * transaction, its own or one shared with other writes.
 */
export interface PreparedWrite<T> {
  readonly objectId: string;
  /** @throws AppError where the object's state or its ACL refuses; then the transaction must not be committed */
  run(tx: Tx): Promise<T>;
}

/** A write that can also run alone, with fewer round trips than a transaction where the change allows that. */
export interface SingleWrite<T> extends PreparedWrite<T> {
  /** @throws AppError as `run` */
  runAlone(): Promise<T>;
}

/** The registered classes. Modules register theirs when they are constructed, so the engine imports none of them. */
@Injectable()
export class ObjectClasses {
  readonly #classes = new Map<StoredClassName, StoredClass>();

  register(stored: StoredClass): void {
    this.#classes.set(stored.className, stored);
  }

  of(className: StoredClassName): StoredClass {
    const stored = this.#classes.get(className);
    if (stored === undefined) throw new Error(`the class ${className} is not registered`);
    return stored;
  }
}

/** Connections for queries of clients, separate from those that logins and lookups need. */
@Injectable()
export class AccountsQueryDatabase extends QueryDatabase implements OnApplicationShutdown {
  constructor(@Inject(ACCOUNTS_CONFIG) { databaseUrl, databasePool }: AccountsConfig, metrics: Metrics) {
    super({
      ...accountsDatabase(databaseUrl, Math.ceil(databasePool / 2)),
      applicationName: 'gatepost-accounts-queries',
    });
    registerPoolMetrics(this, 'accounts-queries', metrics);
    registerPoolMetrics(this.indexed, 'accounts-indexed-queries', metrics);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
