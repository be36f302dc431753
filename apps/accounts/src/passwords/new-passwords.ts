import { Injectable } from '@nestjs/common';
import { type NewSessionToken, SessionTokens } from '../sessions/session-tokens.js';
import { PasswordHasher } from './password-hasher.js';

/** What a new password changes of a user. */
export interface NewPassword {
  readonly columns: { readonly passwordHash: string } & Partial<NewSessionToken['columns']>;
  /** The new session token, where there is one. */
  readonly sessionToken: string | undefined;
}

/** Prepares new passwords before the transaction that stores them. */
@Injectable()
export class NewPasswords {
  constructor(
    private readonly passwords: PasswordHasher,
    private readonly sessions: SessionTokens,
  ) {}

  /** @param renewsSession whether logins by the old session token end with the old password */
  async prepare(objectId: string, password: string, renewsSession: boolean): Promise<NewPassword> {
    const session = renewsSession ? this.sessions.create(objectId) : undefined;
    const passwordHash = await this.passwords.hash(password);
    return { columns: { passwordHash, ...session?.columns }, sessionToken: session?.token };
  }
}
