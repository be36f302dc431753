import type { ClassName, Principal } from '#contracts';
import type { QueryClass, QueryScope } from '#objects';

/** A caller that reads objects: what it may find and get, and how it sees them. Resolved once per request. */
export interface Reading {
  readonly scope: QueryScope;
  /** Undefined for the master key. */
  readonly principal: Principal | undefined;
  /** The caller does not see how others can be reached. */
  readonly hideContact: boolean;
  /** Show ACLs to everybody (`returnACL=true`). */
  readonly returnAcl: boolean;
  mayGet(className: ClassName): boolean;
  /** What may be asked about a class, whether or not its class permission lets the caller find in it. */
  queryClassOf(className: StoredClassName): QueryClass;
}

/** The classes whose objects this service keeps. */
export type StoredClassName = Exclude<ClassName, '_Installation'>;
