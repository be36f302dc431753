import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { MailKind } from '#contracts';
import type { Tx } from '#database';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { type LinkState, stateOf } from './mail-link.rules.js';
import type { MailToken } from './mail-token.types.js';
import { MailTokens } from './mail-tokens.js';

/** A link of ours, the user whom it was made for, and what it would do now. */
export interface FoundLink extends LinkState {
  readonly token: MailToken;
  readonly user: UserRow;
}

/** Finds out what a token stands for. It alone says which application and user are meant. */
@Injectable()
export class MailLinks {
  constructor(
    private readonly tokens: MailTokens,
    private readonly users: UsersRepository,
    private readonly clock: Clock,
  ) {}

  /** @returns undefined where we never made it, made it for something else, or the user is gone */
  find(kind: MailKind, shown: string): Promise<FoundLink | undefined> {
    return this.resolve(kind, shown, ({ appId, userId }) => this.users.find(appId, userId));
  }

  /** The same, and keeps others from changing the user until the transaction ends. */
  lock(tx: Tx, kind: MailKind, shown: string): Promise<FoundLink | undefined> {
    return this.resolve(kind, shown, ({ appId, userId }) => this.users.lock(tx, appId, userId));
  }

  private async resolve(
    kind: MailKind,
    shown: string,
    load: (token: MailToken) => Promise<UserRow | undefined>,
  ): Promise<FoundLink | undefined> {
    const read = this.tokens.read(shown);
    if (read?.token.kind !== kind) return undefined;
    const { token } = read;
    const user = await load(token);
    if (user === undefined || !this.tokens.isGenuine(read, user)) return undefined;
    return { token, user, ...stateOf(token, user, this.clock.now()) };
  }
}
