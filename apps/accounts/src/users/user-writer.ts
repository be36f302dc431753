import { Inject, Injectable } from '@nestjs/common';
import { events } from '#contracts';
import { Database, type Tx } from '#database';
import { Outbox } from '#outbox';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { Clock } from '../clock.js';
import { assertObjectSize, touched } from '../objects/object.rules.js';
import type { UserRow } from './user.row.js';
import { UsersRepository } from './users.repository.js';

/** Sees the user locked, and refuses a change by throwing. */
type Decision = (current: UserRow) => Promise<UserRow> | UserRow;

/** The one place that changes users: each change belongs to a transaction, together with the events that tell of it. */
@Injectable()
export class UserWriter {
  constructor(
    private readonly users: UsersRepository,
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  /** Runs `work` in a transaction: everything of it, or nothing. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  async create(tx: Tx, appId: string, user: UserRow): Promise<void> {
    assertObjectSize(user.fields, this.config.objectLimitBytes);
    await this.users.insert(tx, appId, user);
    await this.outbox.add(tx, events.userRegistered, { appId, userId: user.objectId });
    if (user.email !== null) await this.tellOfEmail(tx, appId, user);
  }

  /**
   * Changes the user as `decide` says, and moves its `updatedAt`.
   * @returns the changed user, or undefined where there is none
   */
  async change(tx: Tx, appId: string, objectId: string, decide: Decision): Promise<UserRow | undefined> {
    const current = await this.users.lock(tx, appId, objectId);
    if (current === undefined) return undefined;
    const changed = { ...(await decide(current)), ...touched(current, this.clock.now()) };
    assertObjectSize(changed.fields, this.config.objectLimitBytes);
    await this.users.update(tx, appId, changed);
    if (changed.email !== current.email) await this.tellOfEmail(tx, appId, changed);
    return changed;
  }

  /** Removes the user where `check` does not throw. @returns false where there is none */
  async remove(
    tx: Tx,
    appId: string,
    objectId: string,
    check: (current: UserRow) => Promise<void> | void,
  ): Promise<boolean> {
    const current = await this.users.lock(tx, appId, objectId);
    if (current === undefined) return false;
    await check(current);
    await this.users.remove(tx, appId, objectId);
    await this.outbox.add(tx, events.userDeleted, { appId, userId: objectId });
    return true;
  }

  async rehash(appId: string, user: UserRow, passwordHash: string): Promise<void> {
    await this.database.transaction((tx) => this.users.rehash(tx, appId, user, passwordHash));
  }

  private async tellOfEmail(tx: Tx, appId: string, { objectId, email, emailVerified }: UserRow): Promise<void> {
    await this.outbox.add(tx, events.emailChanged, {
      appId,
      userId: objectId,
      email,
      needsVerification: emailVerified === false,
    });
  }
}
