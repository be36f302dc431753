import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import type { Tx } from '#database';
import { AppError, appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import type { UserRow } from '../users/user.row.js';
import { UserWriter } from '../users/user-writer.js';
import { UsersRepository } from '../users/users.repository.js';
import { MailSender } from './mail-sender.js';

/** Finds the user whom a request for a mail is about. */
@Injectable()
export class AddresseeService {
  constructor(
    private readonly users: UsersRepository,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly sender: MailSender,
  ) {}

  /**
   * Does `work` with the user of the address, locked. Where answers are quiet they are the same whether somebody has the address
   * or not, and however many mails the mailbox got: who knows what it was sent before would learn who is there.
   * @throws AppError EMAIL_NOT_FOUND, and what `work` throws
   */
  async withUser(caller: Caller, email: string, work: (tx: Tx, user: UserRow) => Promise<void>): Promise<void> {
    const { quietProfile } = await this.applications.settingsOf(caller.appId);
    const owner = await this.users.findByIdentifier(caller.appId, 'email', email);
    try {
      await this.writer.transaction(async (tx) => {
        const user = owner === undefined ? undefined : await this.users.lock(tx, caller.appId, owner.objectId);
        if (user?.email === email) return work(tx, user);
        if (!quietProfile) throw appError('EMAIL_NOT_FOUND');
        await this.sender.pretend(tx, caller, email);
      });
    } catch (error) {
      if (!quietProfile || !isTooMany(error)) throw error;
    }
  }
}

function isTooMany(error: unknown): boolean {
  return error instanceof AppError && error.is('TOO_MANY_EMAILS');
}
