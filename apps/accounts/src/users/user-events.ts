import { Injectable } from '@nestjs/common';
import { events } from '#contracts';
import { Outbox, type Statement, type Tx } from '#database';
import { type MailOrigin, MailSender } from '../emails/mail-sender.js';
import type { UserRow } from './user.row.js';

/** Tells what happened to users, and sends the mails that follow from it: in the transaction of the change. */
@Injectable()
export class UserEvents {
  constructor(
    private readonly outbox: Outbox,
    private readonly mails: MailSender,
  ) {}

  async created(tx: Tx, origin: MailOrigin, user: UserRow): Promise<void> {
    await tx.run(this.creation(origin, user));
    await this.sendVerification(tx, origin, user);
  }

  /** All that is to be told of a new user, to be run together with what inserts it; undefined where it also gets a mail. */
  creations(origin: MailOrigin, user: UserRow): Statement[] | undefined {
    return user.emailVerified === false ? undefined : [this.creation(origin, user)];
  }

  async changed(tx: Tx, origin: MailOrigin, before: UserRow, user: UserRow): Promise<void> {
    if (user.email === before.email) return;
    const { objectId: userId, email, updatedAt } = user;
    const changedAt = updatedAt.toISOString();
    await this.outbox.add(tx, events.emailChanged, { appId: origin.appId, userId, email, changedAt }, origin);
    await this.sendVerification(tx, origin, user);
  }

  async removed(tx: Tx, origin: MailOrigin, userId: string, deletedAt: Date): Promise<void> {
    const { appId } = origin;
    await this.outbox.add(tx, events.userDeleted, { appId, userId, deletedAt: deletedAt.toISOString() }, origin);
  }

  private creation(origin: MailOrigin, { objectId: userId }: UserRow): Statement {
    return this.outbox.addition(events.userRegistered, { appId: origin.appId, userId }, origin);
  }

  /** Where the mailbox got too many mails the user changes all the same, and can ask for one later. */
  private async sendVerification(tx: Tx, origin: MailOrigin, user: UserRow): Promise<void> {
    if (user.emailVerified === false) await this.mails.send(tx, origin, 'verifyEmail', user);
  }
}
