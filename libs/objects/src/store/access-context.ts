import type { ClassOperation, Principal } from '#contracts';
import type { ObjectRow } from '../class-definition.js';
import type { QueryScope } from '../query/query.js';
import type { UpdateCondition } from './update-condition.js';

/** The access of one caller: which objects it can find, get and write, and which fields it sees. Resolved once per request. */
export interface AccessContext {
  readonly scope: QueryScope;
  /** Undefined for the master key. */
  readonly principal: Principal | undefined;
  /** The caller does not see the contact data of other users. */
  readonly hideContact: boolean;
  may(operation: ClassOperation, className: string): boolean;
  /** @throws AppError FORBIDDEN by class permission */
  assertMay(operation: ClassOperation, className: string): void;
  mayRead(object: Pick<ObjectRow, 'acl'>): boolean;
  /** By class permission and ACL, as for a GET by id. The response to a write shows only values that the caller may get. */
  mayGet(className: string, object: Pick<ObjectRow, 'acl'>): boolean;
  /** @throws AppError FORBIDDEN by the object's ACL */
  assertMayWrite(object: Pick<ObjectRow, 'acl'>): void;
  /**
   * Parses the condition of a write. A condition reveals values, so the caller must also be allowed to get the object.
   * @throws AppError FORBIDDEN by class permission; INVALID_QUERY, also for fields that the caller may not query
   */
  conditionOf(className: string, where: unknown): UpdateCondition;
}
