import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Tx, violatedUniqueConstraint } from '#database';
import { type AppError, appError, type ErrorName } from '#errors';
import type { CompiledCondition, CompiledFind } from '#object-query';
import { listBounded } from '../objects/bounded-list.js';
import type { LoginIdentifier } from './user-identifier.rules.js';
import type { UserRow } from './user.row.js';

const COLUMNS = `
  object_id AS "objectId", username, email, email_verified AS "emailVerified",
  mobile_phone_number AS "mobilePhoneNumber", mobile_phone_verified AS "mobilePhoneVerified",
  password_hash AS "passwordHash", session_token_hash AS "sessionTokenHash", sealed_session_token AS "sealedSessionToken",
  acl, fields, created_at AS "createdAt", updated_at AS "updatedAt"`;

const IDENTIFIER_COLUMNS: Readonly<Record<LoginIdentifier, string>> = {
  username: 'username',
  email: 'email',
  mobilePhoneNumber: 'mobile_phone_number',
};

const UNIQUE_ERRORS: Readonly<Record<string, ErrorName>> = {
  users_username_key: 'USERNAME_TAKEN',
  users_email_key: 'EMAIL_TAKEN',
  users_mobile_phone_number_key: 'PHONE_TAKEN',
};

/** Users of one application at a time: every statement is bound to it. */
@Injectable()
export class UsersRepository {
  constructor(private readonly database: Database) {}

  find(appId: string, objectId: string): Promise<UserRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND object_id = $2`;
    return first(this.database.query<UserRow>(sql, [appId, objectId], 'users.find'));
  }

  /** Reads the user and keeps others from changing it until the transaction ends. */
  lock(tx: Tx, appId: string, objectId: string): Promise<UserRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND object_id = $2 FOR UPDATE`;
    return first(tx.query<UserRow>(sql, [appId, objectId], 'users.lock'));
  }

  findBySessionToken(appId: string, tokenHash: Buffer): Promise<UserRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND session_token_hash = $2`;
    return first(this.database.query<UserRow>(sql, [appId, tokenHash], 'users.findBySessionToken'));
  }

  findByIdentifier(appId: string, identifier: LoginIdentifier, value: string): Promise<UserRow | undefined> {
    const column = IDENTIFIER_COLUMNS[identifier];
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND ${column} = $2`;
    return first(this.database.query<UserRow>(sql, [appId, value], `users.findBy.${column}`));
  }

  findMany(appId: string, objectIds: readonly string[]): Promise<UserRow[]> {
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND object_id = ANY($2)`;
    return this.database.query<UserRow>(sql, [appId, objectIds], 'users.findMany');
  }

  /** The names of those users that exist, by id. */
  async usernames(appId: string, objectIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ objectId: string; username: string }>(
      'SELECT object_id AS "objectId", username FROM accounts.users WHERE app_id = $1 AND object_id = ANY ($2)',
      [appId, objectIds],
    );
    return new Map(rows.map(({ objectId, username }) => [objectId, username]));
  }

  list(within: Queryable, { where, orderBy, limit, parameters }: CompiledFind): Promise<UserRow[]> {
    const select = `SELECT ${COLUMNS} FROM accounts.users WHERE ${where} ORDER BY ${orderBy} ${limit}`;
    return listBounded<UserRow>(within, select, parameters);
  }

  async count(within: Queryable, { sql, parameters }: CompiledCondition): Promise<number> {
    const [row] = await within.query<{ count: string }>(`SELECT count(*) FROM accounts.users WHERE ${sql}`, parameters);
    return Number(row?.count ?? 0);
  }

  /** @throws AppError USERNAME_TAKEN, EMAIL_TAKEN or PHONE_TAKEN */
  async insert(tx: Tx, appId: string, user: UserRow): Promise<void> {
    await mapTaken(
      tx.query(
        `INSERT INTO accounts.users
           (app_id, object_id, username, email, email_verified, mobile_phone_number, mobile_phone_verified, password_hash,
            session_token_hash, sealed_session_token, acl, fields, updated_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
        [...changeableValues(appId, user), user.createdAt],
      ),
    );
  }

  /** Writes all changeable columns. @throws AppError USERNAME_TAKEN, EMAIL_TAKEN or PHONE_TAKEN */
  async update(tx: Tx, appId: string, user: UserRow): Promise<void> {
    await mapTaken(
      tx.query(
        `UPDATE accounts.users
            SET username = $3, email = $4, email_verified = $5, mobile_phone_number = $6, mobile_phone_verified = $7,
                password_hash = $8, session_token_hash = $9, sealed_session_token = $10, acl = $11, fields = $12, updated_at = $13
          WHERE app_id = $1 AND object_id = $2`,
        changeableValues(appId, user),
      ),
    );
  }

  /** Replaces a hash by one of the same password, unless the password was changed meanwhile. */
  async rehash(tx: Tx, appId: string, user: UserRow, passwordHash: string): Promise<void> {
    await tx.query(
      'UPDATE accounts.users SET password_hash = $4 WHERE app_id = $1 AND object_id = $2 AND password_hash = $3',
      [appId, user.objectId, user.passwordHash, passwordHash],
    );
  }

  async remove(tx: Tx, appId: string, objectId: string): Promise<void> {
    await tx.query('DELETE FROM accounts.users WHERE app_id = $1 AND object_id = $2', [appId, objectId]);
  }
}

function changeableValues(appId: string, user: UserRow): unknown[] {
  return [
    appId,
    user.objectId,
    user.username,
    user.email,
    user.emailVerified,
    user.mobilePhoneNumber,
    user.mobilePhoneVerified,
    user.passwordHash,
    user.sessionTokenHash,
    user.sealedSessionToken,
    user.acl === null ? null : JSON.stringify(user.acl),
    JSON.stringify(user.fields),
    user.updatedAt,
  ];
}

async function first(rows: Promise<UserRow[]>): Promise<UserRow | undefined> {
  return (await rows)[0];
}

async function mapTaken(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw takenError(error) ?? error;
  }
}

function takenError(error: unknown): AppError | undefined {
  const constraint = violatedUniqueConstraint(error);
  const name = constraint === undefined ? undefined : UNIQUE_ERRORS[constraint];
  return name === undefined ? undefined : appError(name);
}
