import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '#database';
import { unique } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { IdentitiesRepository } from './identities.repository.js';
import type { LinkedIdentities } from './user.rules.js';

const ROUNDS = 40;

let database: Database;
let identities: IdentitiesRepository;
let appId: string;

beforeAll(async () => {
  ({ database } = await newAccountsDatabase(10));
  identities = new IdentitiesRepository(database);
  appId = await storeApplication(database);
});
afterAll(() => database.close());

async function newUser(): Promise<string> {
  const userId = randomBytes(12).toString('hex');
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, session_token_hash, sealed_session_token, created_at, updated_at)
     VALUES ($1, $2, $2, $3, 'sealed', now(), now())`,
    [appId, userId, randomBytes(32)],
  );
  return userId;
}

function linked(platform: string, uid: string): LinkedIdentities {
  return new Map([[platform, { uid, isVerified: false, entry: { uid } }]]);
}

const taken = { status: 'rejected', reason: expect.objectContaining({ errorName: 'IDENTITY_TAKEN' }) as Error };

function replace(userId: string, before: LinkedIdentities | null, after: LinkedIdentities | null): Promise<void> {
  return database.transaction((tx) => identities.replace(tx, { appId, userId }, before, after));
}

describe('identities in PostgreSQL', () => {
  it('two users that exchange identities concurrently do not deadlock', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [one, other] = [await newUser(), await newUser()];
      const [first, last] = [linked('a', unique('uid')), linked('z', unique('uid'))];
      await replace(one, null, first);
      await replace(other, null, last);
      const outcomes = await Promise.allSettled([replace(one, first, last), replace(other, last, first)]);
      expect(outcomes).toEqual([taken, taken]);
    }
  });

  it('a user that exchanges one identity and a user that takes both do not deadlock', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [one, other] = [await newUser(), await newUser()];
      const [first, last] = [linked('a', unique('uid')), linked('z', unique('uid'))];
      await replace(one, null, last);
      const outcomes = await Promise.allSettled([
        replace(one, last, first),
        replace(other, null, new Map([...first, ...last])),
      ]);
      expect(outcomes).toEqual([{ status: 'fulfilled', value: undefined }, taken]);
    }
  });

  it('an identity that one user unlinks can be linked by another', async () => {
    const [one, other] = [await newUser(), await newUser()];
    const [first, second] = [linked('b', unique('uid')), linked('b', unique('uid'))];
    await replace(one, null, first);
    await expect(replace(other, null, first)).rejects.toMatchObject({ errorName: 'IDENTITY_TAKEN' });
    await replace(one, first, second);
    await replace(other, null, first);
    await expect(replace(one, second, first)).rejects.toMatchObject({ errorName: 'IDENTITY_TAKEN' });
    expect(await identities.count(appId)).toContainEqual(expect.objectContaining({ platform: 'b', unverified: 2 }));
  });
});
