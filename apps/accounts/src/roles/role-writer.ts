import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { Database, type Tx } from '#database';
import { appError } from '#errors';
import { assertObjectSize, touched } from '#objects';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import type { MemberChange } from './role-changes.rules.js';
import type { RoleRow } from './role.row.js';
import { RolesRepository } from './roles.repository.js';

/** Sees the role locked, and refuses a change by throwing. */
type Decision = (current: RoleRow) => Promise<RoleRow> | RoleRow;

/** The one place that changes roles and their members. */
@Injectable()
export class RoleWriter {
  constructor(
    private readonly roles: RolesRepository,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  /** Runs `work` in a transaction: everything of it, or nothing. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /** @throws AppError UNIQUE_FIELD_TAKEN, INVALID_RELATION */
  async create(tx: Tx, appId: string, role: RoleRow, members: readonly MemberChange[]): Promise<void> {
    assertObjectSize(role.fields, this.config.objectLimitBytes);
    await this.roles.insert(tx, appId, role);
    await this.changeMembers(tx, appId, role.objectId, members);
  }

  /** @throws AppError NOT_FOUND, INVALID_RELATION */
  async change(
    tx: Tx,
    appId: string,
    objectId: string,
    { decide, members }: { decide: Decision; members: readonly MemberChange[] },
  ): Promise<RoleRow> {
    const current = await this.lock(tx, appId, objectId);
    const changed = { ...(await decide(current)), ...touched(current, this.clock.now()) };
    assertObjectSize(changed.fields, this.config.objectLimitBytes);
    await this.roles.update(tx, appId, changed);
    await this.changeMembers(tx, appId, objectId, members);
    return changed;
  }

  /** Removes the role where `check` does not throw. @throws AppError NOT_FOUND */
  async remove(
    tx: Tx,
    appId: string,
    objectId: string,
    check: (current: RoleRow) => Promise<void> | void,
  ): Promise<void> {
    await check(await this.lock(tx, appId, objectId));
    await this.roles.remove(tx, appId, objectId);
  }

  private async lock(tx: Tx, appId: string, objectId: string): Promise<RoleRow> {
    const role = await this.roles.lock(tx, appId, objectId);
    if (role === undefined) throw appError('NOT_FOUND');
    return role;
  }

  private async changeMembers(tx: Tx, appId: string, roleId: string, changes: readonly MemberChange[]): Promise<void> {
    for (const { kind, ...members } of changes) {
      if (kind === 'addRelation') await this.roles.addMembers(tx, appId, roleId, members);
      else await this.roles.removeMembers(tx, appId, roleId, members);
    }
  }
}
