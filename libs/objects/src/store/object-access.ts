import type { ClassOperation, ClassPermission, ClassPermissions, Principal } from '#contracts';
import { type AppError, appError } from '#errors';
import type { ObjectRow } from '../class-definition.js';
import type { QueryClass, QueryScope } from '../query/query.js';
import { granteesOf, grants, writeForbidden } from '../values.js';
import { ALWAYS_MET, type UpdateCondition, updateCondition } from './query-database.js';
import type { AccessContext, Requester, StoredClasses } from './stored-classes.js';

/** The source of the engine for the rights of a caller. Each service that stores classes provides one. */
export abstract class AccessSource {
  /** @throws AppError UNAUTHORIZED if the application no longer exists */
  abstract permissionsOf(appId: string): Promise<ClassPermissions>;
  abstract principalOf(requester: Requester): Promise<Principal>;
  abstract hidesContact(appId: string): Promise<boolean>;
}

const DEFAULT_PERMISSION = 'everyone';

/** Resolves what a caller may do with objects: by class permissions first, then by ACLs and hidden fields. */
export class ObjectAccess {
  /** By the requester of one RPC, whose writes share it. */
  readonly #contexts = new WeakMap<Requester, Promise<AccessContext>>();

  constructor(
    private readonly source: AccessSource,
    private readonly classes: StoredClasses,
  ) {}

  async assertMay(requester: Requester, operation: ClassOperation, className: string): Promise<void> {
    if (requester.isMaster) return;
    const permission = permissionOf(await this.source.permissionsOf(requester.appId), className, operation);
    if (permission === 'everyone' || isGranted(permission, await this.source.principalOf(requester))) return;
    throw classForbidden(operation, className);
  }

  /** Call it before a transaction, because a transaction must not wait for another connection or service. */
  contextOf(requester: Requester): Promise<AccessContext> {
    const known = this.#contexts.get(requester) ?? this.#resolve(requester);
    this.#contexts.set(requester, known);
    return known;
  }

  async #resolve(requester: Requester): Promise<AccessContext> {
    const { appId, isMaster } = requester;
    const permissions = await this.source.permissionsOf(appId);
    const principal = isMaster ? undefined : await this.source.principalOf(requester);
    const hideContact = !isMaster && (await this.source.hidesContact(appId));
    return new CallerAccess(this.classes, { appId, permissions, principal, hideContact });
  }

  /** As `AccessContext.conditionOf`; a write without a condition costs no lookup. */
  async conditionOf(requester: Requester, className: string, where: unknown): Promise<UpdateCondition> {
    return where === undefined ? ALWAYS_MET : (await this.contextOf(requester)).conditionOf(className, where);
  }
}

interface CallerRights {
  readonly appId: string;
  readonly permissions: ClassPermissions;
  readonly principal: Principal | undefined;
  readonly hideContact: boolean;
}

class CallerAccess implements AccessContext {
  readonly principal: Principal | undefined;
  readonly hideContact: boolean;
  readonly scope: QueryScope;
  readonly #permissions: ClassPermissions;

  constructor(
    private readonly classes: StoredClasses,
    { appId, permissions, principal, hideContact }: CallerRights,
  ) {
    this.principal = principal;
    this.hideContact = hideContact;
    this.#permissions = permissions;
    const grantees = principal === undefined ? 'master' : granteesOf(principal);
    this.scope = { appId, grantees, classOf: (className) => this.#queriedClass(className) };
  }

  queryClassOf(className: string): QueryClass {
    return this.classes.of(className).objectClass.queryClass({ hideContact: this.hideContact });
  }

  may(operation: ClassOperation, className: string): boolean {
    return (
      this.principal === undefined || isGranted(permissionOf(this.#permissions, className, operation), this.principal)
    );
  }

  assertMay(operation: ClassOperation, className: string): void {
    if (!this.may(operation, className)) throw classForbidden(operation, className);
  }

  mayRead(object: Pick<ObjectRow, 'acl'>): boolean {
    return this.#isGrantedBy(object, 'read');
  }

  mayGet(className: string, object: Pick<ObjectRow, 'acl'>): boolean {
    return this.may('get', className) && this.mayRead(object);
  }

  assertMayWrite(object: Pick<ObjectRow, 'acl'>): void {
    if (!this.#isGrantedBy(object, 'write')) throw writeForbidden();
  }

  conditionOf(className: string, where: unknown): UpdateCondition {
    if (where === undefined) return ALWAYS_MET;
    // Only the user itself writes a user, and `users/me` shows it to that user whatever permission and ACL say.
    const isOwn = this.classes.of(className).objectClass.definition.isPrincipal === true;
    // The class permission `find` is not required: the condition sees only the object of the write.
    if (!isOwn) this.assertMay('get', className);
    const isReadable = (object: Pick<ObjectRow, 'acl'>) => isOwn || this.mayRead(object);
    return updateCondition(where, { queryClass: this.queryClassOf(className), scope: this.scope, isReadable });
  }

  #isGrantedBy({ acl }: Pick<ObjectRow, 'acl'>, permission: 'read' | 'write'): boolean {
    const { grantees } = this.scope;
    return grantees === 'master' || grants(acl, permission, grantees);
  }

  listedClass(className: string): QueryClass {
    const isOwn = this.classes.of(className).objectClass.definition.isPrincipal === true;
    const onlyId = isOwn && !this.may('find', className) ? this.principal?.userId : undefined;
    return onlyId === undefined ? this.#queriedClass(className) : { ...this.queryClassOf(className), onlyId };
  }

  #queriedClass(className: string): QueryClass {
    this.#assertStoredHere(className);
    this.assertMay('find', className);
    return this.queryClassOf(className);
  }

  #assertStoredHere(className: string): void {
    if (this.classes.has(className)) return;
    // docs/decisions.md: in a query of users or roles, installations are an unknown class.
    if (!Object.hasOwn(this.#permissions, className) || className === '_Installation') throw appError('NOT_FOUND');
    throw appError('INVALID_QUERY', {
      message: `A query of this class cannot contain a sub-query of the class ${className}.`,
    });
  }
}

function permissionOf(permissions: ClassPermissions, className: string, operation: ClassOperation) {
  const ofClass = Object.hasOwn(permissions, className) ? permissions[className as keyof ClassPermissions] : undefined;
  return ofClass?.[operation] ?? DEFAULT_PERMISSION;
}

export function isGranted(permission: ClassPermission, principal: Principal): boolean {
  if (permission === 'everyone') return true;
  if (permission === 'users') return principal.userId !== undefined;
  return granteesOf(principal).some((grantee) => permission.includes(grantee));
}

function classForbidden(operation: ClassOperation, className: string): AppError {
  return appError('FORBIDDEN', { message: `Forbidden to ${operation} by class '${className}' permissions.` });
}
