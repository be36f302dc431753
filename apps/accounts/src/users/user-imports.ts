import { Injectable } from '@nestjs/common';
import { COMPLETED_FIELDS, type CompletedField, type ImportedObject, type ImportedPassword } from '#contracts';
import type { Queryable, Tx } from '#database';
import { type Acl, claimsOf, type ImportClaim } from '#objects';
import type { ImportedRow, ImportRules } from '#objects/store';
import { Sealer } from '#security';
import { PasswordHasher } from '#security/passwords';
import { sealImportedPassword } from '../passwords/passwords.service.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { IDENTITIES, IdentitiesRepository } from './identities.repository.js';
import type { LinkedIdentities, UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

const TOKEN_CLAIM = 'sessionToken ';
const IDENTITY_CLAIM = 'authData.';
/** Begins the token of a user whose export had none. A later import replaces it by the token of the export. */
const STAND_IN = 'import';

/** The columns that the sender has parsed with the definition of the class. */
type ImportedColumns = Pick<
  UserRow,
  'username' | 'email' | 'emailVerified' | 'mobilePhoneNumber' | 'mobilePhoneVerified'
>;
const NO_CONTACT: ImportedColumns = {
  username: '',
  email: null,
  emailVerified: null,
  mobilePhoneNumber: null,
  mobilePhoneVerified: false,
};

type EarlierCredentials = Pick<UserRow, 'hasEarlierPassword' | 'hasEarlierToken'>;
type Password = Pick<UserRow, 'passwordHash' | 'importedPasswordHash'>;
type Session = Pick<UserRow, 'sessionTokenHash' | 'sealedSessionToken' | 'importedTokenHash'>;

/** How users of another server become users here: with their password, session token and linked accounts. */
@Injectable()
export class UserImports implements ImportRules<UserRow> {
  readonly tables = [IDENTITIES];
  readonly hasConstraints: boolean;

  constructor(
    private readonly users: UsersRepository,
    private readonly identities: IdentitiesRepository,
    private readonly sessions: SessionTokens,
    private readonly hasher: PasswordHasher,
    private readonly sealer: Sealer,
  ) {
    // A token can be stored under the hash of an accepted secret, which no constraint compares with that of the current one.
    this.hasConstraints = sealer.acceptedKeyIds.length === 0;
  }

  async owners(within: Queryable, appId: string, claims: readonly ImportClaim[]): Promise<[string, string][]> {
    const tokens = claims.flatMap(({ key }) => (key.startsWith(TOKEN_CLAIM) ? [key.slice(TOKEN_CLAIM.length)] : []));
    const linked = claims.filter(({ key }) => key.startsWith(IDENTITY_CLAIM));
    const owners = await Promise.all([
      this.users.ownersOf(within, appId, claims),
      this.#tokenOwners(within, appId, tokens),
      this.identities.ownersOf(within, appId, linked),
    ]);
    return owners.flat();
  }

  claimsOf(user: UserRow): readonly ImportClaim[] {
    return claimsOf('_User', {
      columns: this.users.columnsOf(user),
      sessionToken: this.sessions.reveal(user),
      identities: [...(user.identities ?? [])].map(([platform, { uid }]) => ({ platform, uid })),
    });
  }

  changedAt({ lastChangeAt, updatedAt }: UserRow): Date {
    return lastChangeAt ?? updatedAt;
  }

  /** A stand-in that a login here has used stays. Every other change here makes the user newer than the import. */
  lacks(user: UserRow): CompletedField[] {
    const isStandIn = this.sessions.reveal(user).startsWith(STAND_IN);
    const lacks = {
      password: user.passwordHash === null || user.hasEarlierPassword,
      sessionToken: isStandIn ? user.lastChangeAt === null : user.hasEarlierToken,
      email: user.email === null,
      mobilePhoneNumber: user.mobilePhoneNumber === null,
    };
    return COMPLETED_FIELDS.filter((field) => lacks[field]);
  }

  async prepare(
    rows: readonly ImportedRow<UserRow>[],
    { wrapPasswords }: { readonly wrapPasswords: boolean },
  ): Promise<UserRow[]> {
    const users: UserRow[] = [];
    for (const { object, current, isAddition = false, lacks } of rows) {
      const password = await this.#passwordOf(object, current, wrapPasswords);
      const user =
        isAddition && current !== undefined ? this.#completed(current, object) : this.#userOf(object, current);
      users.push({ ...user, ...password, ...earlierCredentials(lacks) });
    }
    return users;
  }

  async storeParts(
    tx: Tx,
    appId: string,
    { rows, replaced }: { readonly rows: readonly UserRow[]; readonly replaced: readonly UserRow[] },
  ): Promise<boolean> {
    await this.identities.removeAll(tx, appId, replaced);
    return this.identities.insertMany(tx, appId, rows);
  }

  #userOf(
    object: ImportedObject,
    current: UserRow | undefined,
  ): Omit<UserRow, keyof Password | keyof EarlierCredentials> {
    const { objectId, columns } = object;
    const contact: ImportedColumns = { ...NO_CONTACT, ...columns };
    return {
      objectId,
      ...contact,
      emailVersion: versionAfter(current?.emailVersion, current?.email !== contact.email),
      passwordVersion: current?.passwordVersion ?? 0,
      ...this.#sessionOf(object, current),
      identities: linkedIdentities(object),
      acl: object.acl as Acl | null,
      fields: object.fields,
      createdAt: new Date(object.createdAt),
      ...timesOf(object, current),
    };
  }

  #completed(current: UserRow, object: ImportedObject): Omit<UserRow, keyof EarlierCredentials> {
    const columns: Partial<ImportedColumns> = object.columns;
    return {
      ...current,
      ...columns,
      emailVersion: versionAfter(current.emailVersion, columns.email !== undefined),
      identities: withLinked(current.identities, linkedIdentities(object)),
      ...this.#sessionOf(object, current),
    };
  }

  /** The imported token, unless an import has brought it before: then its owner may have replaced it, so that sessions with it ended. */
  #sessionOf({ objectId, sessionToken }: ImportedObject, current: UserRow | undefined): Session {
    const known = current?.importedTokenHash ?? null;
    const isKnown = sessionToken !== undefined && known !== null && this.sealer.isHashOf(sessionToken, known);
    if (sessionToken !== undefined && !isKnown) {
      const columns = this.sessions.columnsOf(sessionToken, objectId);
      return { ...columns, importedTokenHash: columns.sessionTokenHash };
    }
    if (current !== undefined) {
      const { sessionTokenHash, sealedSessionToken, importedTokenHash } = current;
      return { sessionTokenHash, sealedSessionToken, importedTokenHash };
    }
    const { token } = this.sessions.create(objectId);
    const standIn = `${STAND_IN}${token.slice(STAND_IN.length)}`;
    return { ...this.sessions.columnsOf(standIn, objectId), importedTokenHash: null };
  }

  /** The imported password, unless the stored one was imported from the same hash: then a login or its owner may have replaced it. */
  async #passwordOf(
    { objectId, password }: ImportedObject,
    current: UserRow | undefined,
    wraps: boolean,
  ): Promise<Password & Partial<Pick<UserRow, 'passwordVersion'>>> {
    const kept = {
      passwordHash: current?.passwordHash ?? null,
      importedPasswordHash: current?.importedPasswordHash ?? null,
    };
    if (password === undefined) return kept;
    const text = JSON.stringify(password);
    if (kept.importedPasswordHash !== null && this.sealer.isHashOf(text, kept.importedPasswordHash)) return kept;
    return {
      passwordHash: await this.#storedPassword(objectId, password, wraps),
      importedPasswordHash: this.sealer.lookupHash(text),
      passwordVersion: versionAfter(current?.passwordVersion, true),
    };
  }

  #storedPassword(objectId: string, password: ImportedPassword, wraps: boolean): Promise<string> {
    return wraps && password.scheme === 'leancloud'
      ? this.hasher.wrap(password)
      : Promise.resolve(sealImportedPassword(this.sealer, objectId, password));
  }

  async #tokenOwners(within: Queryable, appId: string, tokens: readonly string[]): Promise<[string, string][]> {
    const byHash = new Map(
      tokens.flatMap((token) => this.sessions.hashes(token).map((hash) => [hash.toString('hex'), token])),
    );
    const owners = await this.users.tokenOwners(within, appId, [...byHash.keys()]);
    return owners.map(({ hash, objectId }): [string, string] => [`${TOKEN_CLAIM}${byHash.get(hash) ?? ''}`, objectId]);
  }
}

function earlierCredentials(lacks: readonly CompletedField[]): EarlierCredentials {
  return { hasEarlierPassword: lacks.includes('password'), hasEarlierToken: lacks.includes('sessionToken') };
}

function versionAfter(version: number | undefined, isChanged: boolean): number {
  return version === undefined ? 0 : version + Number(isChanged);
}

/** A login here may have moved `updatedAt` beyond that of the import. It never moves back: clients compare it. */
function timesOf(
  { updatedAt }: ImportedObject,
  current: UserRow | undefined,
): Pick<UserRow, 'updatedAt' | 'lastChangeAt'> {
  const imported = new Date(updatedAt);
  if (current === undefined || current.updatedAt < imported) return { updatedAt: imported, lastChangeAt: null };
  return { updatedAt: new Date(current.updatedAt.getTime() + 1), lastChangeAt: imported };
}

function linkedIdentities({ identities = [] }: ImportedObject): LinkedIdentities | null {
  if (identities.length === 0) return null;
  return new Map(identities.map(({ platform, ...identity }) => [platform, identity]));
}

function withLinked(current: LinkedIdentities | null, added: LinkedIdentities | null): LinkedIdentities | null {
  return current === null || added === null ? (current ?? added) : new Map([...added, ...current]);
}
