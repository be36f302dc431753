import type {
  Caller,
  ClassOperation,
  IdentityChanges,
  JsonObject,
  ObjectWrite,
  ObjectWriteOptions,
  Principal,
} from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import type { FieldDefinitions, ObjectRow } from '../class-definition.js';
import type { ObjectClass } from '../object-class.js';
import type { QueryClass, QueryScope } from '../query/query.js';
import type { FieldIndexed } from './field-indexes.js';
import type { ImportRules } from './import-decisions.js';
import type { LockedObject, ObjectRepository } from './object.repository.js';
import type { UpdateCondition } from './query-database.js';

/** The caller of a request. A service without users receives the principal with the request. */
export type Requester = Caller & { readonly principal?: Principal };

export interface WriteResult {
  readonly objectId: string;
  readonly isNew: boolean;
  readonly result: JsonObject;
}

/** Validated as far as possible without its object, with passwords hashed: the rest is quick. It names the object to lock first. */
export interface PreparedWrite<T = WriteResult> extends LockedObject {
  /** The values that it gives to unique fields. Joint saves lock them in one order, because an insert waits for the same value of another transaction. */
  readonly uniqueValues?: readonly string[] | undefined;
  /** It may run again in another transaction. @throws AppError where the object's state or its ACL refuses: then there must be no commit */
  run(tx: Tx): Promise<T>;
}

export interface CreateOptions {
  readonly objectId?: string | undefined;
  readonly returnNew: boolean;
}

export interface UpdateOptions extends ObjectWriteOptions {
  /** The request's `authData`, as auth-linking has verified it. Only users have it. */
  readonly identities?: IdentityChanges | undefined;
}

export interface RemovalAccess {
  readonly context: AccessContext;
  readonly condition: UpdateCondition;
}

export interface ObjectWrites {
  prepareCreate(requester: Requester, fields: JsonObject, options: CreateOptions): Promise<PreparedWrite>;
  prepareUpdate(
    requester: Requester,
    objectId: string,
    fields: JsonObject,
    options: UpdateOptions,
  ): Promise<PreparedWrite>;
  prepareRemove(requester: Requester, objectId: string, access: RemovalAccess): PreparedWrite<void>;
  /** Refuses a joint save that would take too long, before its first write is prepared. @throws AppError NOT_SUPPORTED */
  assertSaveable?(writes: readonly Pick<ObjectWrite, 'fields'>[]): void;
  /** Locks all objects of the writes in one order. Two transactions can still deadlock, by values: they must be repeatable. */
  lock(tx: Tx, appId: string, writes: readonly PreparedWrite<unknown>[]): Promise<void>;
}

export interface StoredClass<Row extends ObjectRow = ObjectRow> {
  readonly objectClass: ObjectClass<FieldDefinitions, Row>;
  readonly objects: ObjectRepository<Row>;
  readonly writes: ObjectWrites;
  /** Absent: the definition of the class describes all that an import needs. */
  readonly imports?: ImportRules<Row>;
}

/** The registered classes of a service. Modules register theirs when they are constructed, so the engine imports none of them. */
export class StoredClasses implements FieldIndexed {
  readonly #classes = new Map<string, StoredClass<never>>();

  register<Row extends ObjectRow>(stored: StoredClass<Row>): void {
    if (this.has(stored.objectClass.name))
      throw new Error(`the class ${stored.objectClass.name} is registered already`);
    this.#classes.set(stored.objectClass.name, stored as unknown as StoredClass<never>);
  }

  of(className: string): StoredClass {
    const stored = this.#classes.get(className);
    if (stored === undefined) throw appError('NOT_FOUND');
    return stored;
  }

  /** The names in one order, in which transactions lock their objects: a role before the users that join it. */
  get names(): readonly string[] {
    return [...this.#classes.keys()].sort();
  }

  has(className: string): boolean {
    return this.#classes.has(className);
  }

  get(className: string): ReturnType<ObjectClass['queryClass']> | undefined {
    return this.#classes.get(className)?.objectClass.queryClass();
  }
}

/** The access of one caller: which objects it can find, get and write, and which fields it sees. Resolved once per request. */
export interface AccessContext {
  readonly scope: QueryScope;
  /** The class without a check of its permissions, unlike `scope.classOf`. */
  queryClassOf(className: string): QueryClass;
  /** As `scope.classOf`. Without permission `find` a user can list itself. */
  listedClass(className: string): QueryClass;
  readonly principal: Principal | undefined;
  readonly hideContact: boolean;
  may(operation: ClassOperation, className: string): boolean;
  assertMay(operation: ClassOperation, className: string): void;
  mayRead(object: Pick<ObjectRow, 'acl'>): boolean;
  /** By class permission and ACL, as for a GET by id. The response to a write shows only values that the caller may get. */
  mayGet(className: string, object: Pick<ObjectRow, 'acl'>): boolean;
  assertMayWrite(object: Pick<ObjectRow, 'acl'>): void;
  /** A condition reveals values, so the caller must also be allowed to get the object. */
  conditionOf(className: string, where: unknown): UpdateCondition;
}
