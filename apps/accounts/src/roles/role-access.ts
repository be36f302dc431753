import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import { granteesOf, grants, writeForbidden } from '#objects';
import { PrincipalsService } from '../principals/principals.service.js';
import type { RoleRow } from './role.row.js';

/** Decides by a role's ACL who may change it: whoever may, decides who has the role. */
@Injectable()
export class RoleAccess {
  constructor(private readonly principals: PrincipalsService) {}

  /** Resolved before a transaction, which must not wait for a second connection. */
  async granteesOf(caller: Caller): Promise<string[]> {
    return caller.isMaster ? [] : granteesOf(await this.principals.of(caller));
  }

  /** @throws AppError FORBIDDEN where the ACL refuses */
  assertMayWrite({ isMaster }: Caller, grantees: readonly string[], { acl }: RoleRow): void {
    if (!isMaster && !grants(acl, 'write', grantees)) throw writeForbidden();
  }
}
