import { randomBytes } from 'node:crypto';
import { Database, type DatabaseOptions, migrate, type Queryable } from '#database';
import { newDatabase, unique } from '#testing';
import { accountsDatabase } from '../src/accounts.database.js';
import { blankUser } from '../src/users/sign-up.service.js';
import type { UserRow } from '../src/users/user.rules.js';

/** A new database with the tables of accounts. The caller closes it. */
export async function newAccountsDatabase(
  poolSize: number,
  own: Partial<DatabaseOptions> = {},
): Promise<{ readonly database: Database; readonly options: DatabaseOptions }> {
  const options = { ...accountsDatabase(await newDatabase(), poolSize), ...own };
  await migrate(options);
  return { database: new Database(options), options };
}

/** Stores an application. @returns its id */
export async function storeApplication(database: Queryable, appId = unique('app')): Promise<string> {
  await database.query(
    'INSERT INTO accounts.applications (id, name, sealed_app_key, sealed_master_key) VALUES ($1, $1, $1, $1)',
    [appId],
  );
  return appId;
}

const TIME = new Date('2026-01-01T00:00:00.123Z');

/** A row as a sign-up makes it, without password and linked accounts. */
export function userRow(own: Partial<UserRow> = {}): UserRow {
  const { objectId = randomBytes(12).toString('hex'), username = unique('user') } = own;
  const session = { sessionTokenHash: randomBytes(32), sealedSessionToken: 'sealed' };
  return { ...blankUser({ objectId, username, now: TIME }, session), ...own };
}
