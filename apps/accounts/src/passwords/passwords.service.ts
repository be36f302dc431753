import { Injectable } from '@nestjs/common';
import { type ImportedPassword, importedPassword, type JsonObject, type LoginMethod } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { hashable, isAbsent, type LoginIdentifier, parsePhoneNumber } from '#objects';
import { Sealer } from '#security';
import { PasswordHasher } from '#security/passwords';
import { LockoutService } from '../lockout/lockout.service.js';
import { type NewSessionToken, SessionTokens } from '../sessions/session-tokens.js';

/** Marks a stored password as the sealed hash of another server. It stays until the first login replaces it. */
export const IMPORTED_SCHEME = 'imported:';

interface PasswordAttempt {
  readonly password: string;
  readonly method: LoginMethod;
}

export interface NewPassword {
  readonly columns: { readonly passwordHash: string } & Partial<NewSessionToken['columns']>;
  readonly sessionToken: string | undefined;
}

const METHODS: Readonly<Record<LoginIdentifier, LoginMethod>> = {
  username: 'username',
  email: 'email',
  mobilePhoneNumber: 'phone',
};

/** Verifies passwords under the lockout, for every endpoint that takes one, and prepares new ones. */
@Injectable()
export class PasswordsService {
  constructor(
    private readonly lockouts: LockoutService,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionTokens,
    private readonly sealer: Sealer,
  ) {}

  /** `replacementHash`: our own, where the stored one is another server's. @throws AppError PASSWORD_MISMATCH, and as `LockoutService.verify` */
  async verify(
    appId: string,
    { objectId, passwordHash }: { readonly objectId: string; readonly passwordHash: string | null },
    { password, method }: PasswordAttempt,
  ): Promise<{ readonly replacementHash: string | undefined }> {
    const imported = passwordHash === null ? undefined : openImportedPassword(this.sealer, objectId, passwordHash);
    let replacementHash: string | undefined = undefined;
    const isCorrect = await this.lockouts.verify({ appId, userId: objectId }, method, async () => {
      if (passwordHash === null) return this.hasher.verifyNothing(password);
      if (imported === undefined) return this.hasher.verify(password, passwordHash);
      replacementHash = await this.hasher.verifyImported(password, imported);
      return replacementHash !== undefined;
    });
    if (!isCorrect) throw appError('PASSWORD_MISMATCH');
    return { replacementHash };
  }

  /** Refuses an unknown login name as `verify` refuses a wrong password: after the same work and with the same lockout. */
  async refuseUnknown(appId: string, [identifier, value]: [LoginIdentifier, string], password: string): Promise<never> {
    const decoy = this.lockouts.decoyAccount(appId, identifier, value);
    await this.lockouts.verify(decoy, METHODS[identifier], () => this.hasher.verifyNothing(password));
    throw appError('PASSWORD_MISMATCH');
  }

  /** @param options.renewsSession whether the old session token ends with the old password */
  async prepare(
    objectId: string,
    password: string,
    { renewsSession }: { readonly renewsSession: boolean },
  ): Promise<NewPassword> {
    const session = renewsSession ? this.sessions.create(objectId) : undefined;
    const passwordHash = await this.hasher.hash(password);
    return { columns: { passwordHash, ...session?.columns }, sessionToken: session?.token };
  }
}

export function importedPasswordContext(objectId: string): string {
  return `imported password of ${objectId}`;
}

/** The column of an imported password. The hash of LeanCloud is fast, so a copy of the database must not contain it. */
export function sealImportedPassword(sealer: Sealer, objectId: string, password: ImportedPassword): string {
  return IMPORTED_SCHEME + sealer.seal(JSON.stringify(password), importedPasswordContext(objectId));
}

/** @returns undefined where the column holds a hash of ours */
export function openImportedPassword(sealer: Sealer, objectId: string, stored: string): ImportedPassword | undefined {
  if (!stored.startsWith(IMPORTED_SCHEME)) return undefined;
  const text = sealer.open(stored.slice(IMPORTED_SCHEME.length), importedPasswordContext(objectId));
  return importedPassword.parse(JSON.parse(text));
}

export interface Credentials {
  readonly identifier: LoginIdentifier;
  readonly value: string;
  readonly password: string;
}

/** SDKs send whole user objects: username wins over email over mobilePhoneNumber (decisions, identifier at login). */
const IDENTIFIERS: readonly LoginIdentifier[] = ['username', 'email', 'mobilePhoneNumber'];

const INVALID_IDENTIFIERS: Readonly<Record<LoginIdentifier, ErrorName>> = {
  username: 'INVALID_USERNAME',
  email: 'INVALID_EMAIL',
  mobilePhoneNumber: 'INVALID_PHONE',
};

export function attemptOf({ identifier, password }: Credentials): PasswordAttempt {
  return { password, method: METHODS[identifier] };
}

export function parseCredentials(body: JsonObject): Credentials {
  const identifier = IDENTIFIERS.find((name) => !isAbsent(body[name]));
  if (identifier === undefined) throw appError('USERNAME_MISSING');
  const value = parseIdentifier(identifier, body[identifier]);
  const password = body['password'];
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { identifier, value, password: hashable(password) };
}

function parseIdentifier(identifier: LoginIdentifier, value: JsonObject[string] | undefined): string {
  if (typeof value !== 'string') throw appError(INVALID_IDENTIFIERS[identifier]);
  return identifier === 'mobilePhoneNumber' ? parsePhoneNumber(value) : value;
}
