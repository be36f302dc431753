import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { events } from '#contracts';
import { Database, Outbox, type Statement, type Tx } from '#database';
import { assertObjectSize, touched } from '#objects';
import type { PreparedWrite } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { type MailOrigin, MailSender } from '../messages/mail-sender.js';
import { IdentitiesRepository } from './identities.repository.js';
import { pruneIdentities } from './identity.rules.js';
import { changesContentOnly, countChanges, type UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

/** Makes the changed user from the current one, or throws to refuse the change. */
type UserChange = (current: UserRow) => Promise<UserRow> | UserRow;
type UserCheck = (current: UserRow) => Promise<void> | void;

/** A write that can also run alone, with fewer round trips than a transaction where the change allows that. */
export type SingleWrite<T> = PreparedWrite<T> & { runAlone(): Promise<T> };

/** Every change of a user is committed with its events. `UsersRepository` records logins, which have none. */
@Injectable()
export class UserTransactions {
  constructor(
    private readonly users: UsersRepository,
    private readonly identities: IdentitiesRepository,
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly mails: MailSender,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.database.repeatable(work);
  }

  /** @throws AppError IDENTITY_TAKEN where another user has one of its identities */
  async create(tx: Tx, origin: MailOrigin, wanted: UserRow): Promise<UserRow> {
    const { appId } = origin;
    const user = this.#checked(wanted);
    await this.users.insert(tx, appId, user);
    await this.identities.replace(tx, { appId, userId: user.objectId }, null, user.identities);
    await tx.run(this.#registration(origin, user));
    await this.#sendVerification(tx, origin, user);
    return user;
  }

  /** As `create`, in its own transaction: in one statement where no write depends on a read. */
  async createAlone(origin: MailOrigin, wanted: UserRow): Promise<UserRow> {
    const user = this.#checked(wanted);
    const additions = this.identities.additions(origin.appId, user.objectId, user.identities);
    if (additions === undefined || user.emailVerified === false)
      return this.run((tx) => this.create(tx, origin, wanted));
    await this.users.insertWith(this.database, origin.appId, user, [...additions, this.#registration(origin, user)]);
    return user;
  }

  /** @returns the user with a later `updatedAt`; undefined: there is none. @throws AppError IDENTITY_TAKEN as `create` */
  change(tx: Tx, origin: MailOrigin, objectId: string, change: UserChange): Promise<UserRow | undefined> {
    return this.#store(tx, origin, objectId, (current) => this.#nextVersion(current, change));
  }

  /** As `change`, for a login: `updatedAt` moves, but the time of the last change stays. */
  changeByLogin(tx: Tx, origin: MailOrigin, objectId: string, change: UserChange): Promise<UserRow | undefined> {
    return this.#store(tx, origin, objectId, async (current) => ({
      ...(await this.#nextVersion(current, change)),
      lastChangeAt: current.lastChangeAt ?? current.updatedAt,
    }));
  }

  async #store(tx: Tx, origin: MailOrigin, objectId: string, change: UserChange): Promise<UserRow | undefined> {
    const { appId } = origin;
    const current = await this.users.lock(tx, appId, objectId);
    if (current === undefined) return undefined;
    const changed = await change(current);
    await this.users.update(tx, appId, changed);
    await this.identities.replace(tx, { appId, userId: objectId }, current.identities, changed.identities);
    await this.#reportChange(tx, origin, current, changed);
    return changed;
  }

  /** Takes no lock. @returns undefined where `change` must be used: no such user, other members change, or a concurrent change */
  async changeContent(appId: string, objectId: string, change: UserChange): Promise<UserRow | undefined> {
    const read = await this.users.findVersion(appId, objectId);
    if (read === undefined) return undefined;
    const user = await this.#nextVersion(read.user, change);
    if (!changesContentOnly(read.user, user)) return undefined;
    return (await this.users.updateVersion(appId, { ...read, user })) ? user : undefined;
  }

  /** Removes the user unless `check` throws. @returns false where there is none */
  async remove(tx: Tx, origin: MailOrigin, objectId: string, check: UserCheck): Promise<boolean> {
    const current = await this.users.lock(tx, origin.appId, objectId, 'UPDATE');
    if (current === undefined) return false;
    await check(current);
    await this.users.remove(tx, origin.appId, [objectId]);
    const deletedAt = touched(current, this.clock.now()).updatedAt.toISOString();
    await this.outbox.add(tx, events.userDeleted, { appId: origin.appId, userId: objectId, deletedAt }, origin);
    return true;
  }

  async rehash(appId: string, user: UserRow, passwordHash: string): Promise<void> {
    await this.database.transaction((tx) => this.users.rehash(tx, appId, user, passwordHash));
  }

  #registration(origin: MailOrigin, { objectId: userId }: UserRow): Statement {
    return this.outbox.addition(events.userRegistered, { appId: origin.appId, userId }, origin);
  }

  async #reportChange(tx: Tx, origin: MailOrigin, before: UserRow, user: UserRow): Promise<void> {
    if (user.email === before.email) return;
    const { objectId: userId, email, updatedAt } = user;
    const changedAt = updatedAt.toISOString();
    await this.outbox.add(tx, events.emailChanged, { appId: origin.appId, userId, email, changedAt }, origin);
    await this.#sendVerification(tx, origin, user);
  }

  /** Where the mailbox has received too many mails, the user changes all the same and can request one later. */
  async #sendVerification(tx: Tx, origin: MailOrigin, user: UserRow): Promise<void> {
    if (user.emailVerified === false) await this.mails.sendVerification(tx, origin, user);
  }

  async #nextVersion(current: UserRow, change: UserChange): Promise<UserRow> {
    const wanted = withPrunedIdentities(await change(current));
    const versions = { ...countChanges(current, wanted), ...touched(current, this.clock.now()), lastChangeAt: null };
    const changed = { ...wanted, ...versions };
    assertObjectSize(changed.fields, this.config.objectLimitBytes);
    return changed;
  }

  #checked(wanted: UserRow): UserRow {
    assertObjectSize(wanted.fields, this.config.objectLimitBytes);
    return withPrunedIdentities(wanted);
  }
}

function withPrunedIdentities(user: UserRow): UserRow {
  return { ...user, identities: pruneIdentities(user.identities, user.passwordHash !== null) };
}
