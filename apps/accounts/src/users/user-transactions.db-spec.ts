import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { events } from '#contracts';
import { Database, Outbox } from '#database';
import type { QueryDatabase } from '#objects/store';
import { Sealer } from '#security';
import { newAccountsDatabase, storeApplication, userRow } from '../../test/stored.js';
import type { AccountsConfig } from '../accounts.config.js';
import type { MailSender } from '../messages/mail-sender.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { IdentitiesRepository } from './identities.repository.js';
import { UserTransactions } from './user-transactions.js';
import { UsersRepository } from './users.repository.js';

const APP = 'shop';
const ORIGIN = { appId: APP };
const LANES = 12;
const CHANGES_IN_A_LANE = 8;
/** Of each of two users. */
const CHANGES = (LANES / 2) * CHANGES_IN_A_LANE;

describe('the events of users', () => {
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  let databases: Database[];
  let replicas: UserTransactions[];

  /** As in one replica of accounts, without a relay that publishes the events. */
  const replicaOver = (database: Database) => {
    const outbox = new Outbox('accounts', { wake: () => undefined });
    // No address of these users needs verification, so no mail is sent.
    const mails = {} as MailSender;
    const config: Pick<AccountsConfig, 'objectLimitBytes'> = { objectLimitBytes: 10_000 };
    const [users, identities] = [
      new UsersRepository(database, {} as QueryDatabase, sealer),
      new IdentitiesRepository(database),
    ];
    return new UserTransactions(users, identities, database, outbox, mails, new Clock(), config as AccountsConfig);
  };
  const newUser = (objectId: string) =>
    userRow({ ...new SessionTokens(sealer).create(objectId).columns, objectId, username: objectId });
  /** Changes the address, which names the version of the user. */
  const change = (transactions: UserTransactions, objectId: string) =>
    transactions.run((tx) =>
      transactions.change(tx, ORIGIN, objectId, (user) => ({
        ...user,
        email: `${objectId}-${user.emailVersion + 1}@example.com`,
      })),
    );

  beforeAll(async () => {
    const { database, options } = await newAccountsDatabase(8);
    databases = [database, new Database(options)];
    replicas = databases.map(replicaOver);
    await storeApplication(database, APP);
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
  });

  it('have ids in the order in which the user changed, however many change it at once over two replicas', async () => {
    const users = ['first', 'second'];
    for (const user of users) await replicas[0]!.createAlone(ORIGIN, newUser(user));
    // As many lanes as connections, each behind the lock of one user's row.
    const lane = async (n: number) => {
      for (let done = 0; done < CHANGES_IN_A_LANE; done += 1)
        await change(replicas[n % 2]!, users[n < LANES / 2 ? 0 : 1]!);
    };
    await Promise.all(Array.from({ length: LANES }, (_, n) => lane(n)));
    for (const user of users) {
      await replicas[1]!.run((tx) => replicas[1]!.remove(tx, ORIGIN, user, () => undefined));
      const stored = await databases[0]!.query<{ pattern: string; email: string | null }>(
        `SELECT pattern, payload ->> 'email' AS email FROM accounts.outbox WHERE payload ->> 'userId' = $1 ORDER BY id`,
        [user],
      );
      expect(stored).toEqual([
        { pattern: 'user.registered.v1', email: null },
        ...Array.from({ length: CHANGES }, (_, n) => {
          return { pattern: 'email.changed.v1', email: `${user}-${n + 1}@example.com` };
        }),
        { pattern: 'user.deleted.v1', email: null },
      ]);
    }
  });

  it('are not stored by a pretence, which does the same work', async () => {
    let wakes = 0;
    const outbox = new Outbox('accounts', { wake: () => (wakes += 1) });
    const database = databases[0]!;
    const decoy = { appId: APP, userId: 'decoy' };
    await database.transaction((tx) => outbox.addDecoy(tx, events.userRegistered, decoy, { requestId: 'request' }));
    expect(await database.query(`SELECT 1 FROM accounts.outbox WHERE payload ->> 'userId' = 'decoy'`)).toEqual([]);
    expect(wakes).toBe(1);
  });
});
