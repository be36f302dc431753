import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newDatabase, TcpProxy } from '#testing';
import { LookupConnections } from './connections.js';
import { Database } from './database.js';

const LOOK_UP = `SELECT current_database() AS name FROM things WHERE number = $1`;

describe('after a failover that leaves the connections to the old server open', () => {
  let [oldUrl, newUrl] = ['', ''];
  let proxy: TcpProxy;
  let database: Database;

  const nameOf = (url: string) => new URL(url).pathname.slice(1);
  const admin = async (sql: string) => {
    const own = new Database({ url: newUrl, schema: 'public', migrations: [], poolSize: 1, applicationName: 'admin' });
    await own.query(sql);
    await own.close();
  };
  const write = () => database.transaction((tx) => tx.query('UPDATE things SET number = number'));
  const found = async () => (await database.lookUp<{ name: string }>(LOOK_UP, [1], 'found'))[0]?.name;
  const written = async () =>
    database.transaction(async (tx) => {
      const [row] = await tx.query<{ name: string }>(
        'UPDATE things SET number = 1 RETURNING current_database() AS name',
      );
      return row?.name;
    });

  beforeEach(async () => {
    [oldUrl, newUrl] = [await newDatabase(), await newDatabase()];
    proxy = await TcpProxy.to(new URL(oldUrl), 5432);
    for (const url of [oldUrl, newUrl]) {
      const own = new Database({ url, schema: 'public', migrations: [], poolSize: 1, applicationName: 'test' });
      await own.query('CREATE TABLE things (number int PRIMARY KEY)');
      await own.query('INSERT INTO things VALUES (1)');
      await own.close();
    }
    await admin(`ALTER DATABASE ${nameOf(oldUrl)} SET default_transaction_read_only = on`);
    database = new Database({
      url: proxy.urlFor(oldUrl),
      schema: 'public',
      migrations: [],
      poolSize: 4,
      applicationName: 'failover',
    });
  });
  afterEach(async () => {
    await database.close();
    await proxy.close();
  });

  it('look-ups and transactions leave the server that takes no writes, and read there until then', async () => {
    expect(await found()).toBe(nameOf(oldUrl));
    const refused = await Promise.allSettled([write(), write(), write()]);
    expect(refused).toMatchObject(
      refused.map(() => ({ status: 'rejected', reason: { errorName: 'SERVICE_UNAVAILABLE' } })),
    );
    expect(await found()).toBe(nameOf(oldUrl));
    await admin(`ALTER DATABASE ${nameOf(oldUrl)} RESET default_transaction_read_only`);
    const before = proxy.connections;
    await eventually(async () => {
      await write();
    });
    await sleep(1_100);
    await Promise.all([found(), found()]);
    // The transaction and both look-ups have opened a connection each.
    expect(proxy.connections - before).toBeGreaterThanOrEqual(2);
    expect(await written()).toBe(nameOf(oldUrl));
  });

  it('a connection of look-ups ends soon after a write was refused elsewhere', async () => {
    await admin(`ALTER DATABASE ${nameOf(oldUrl)} RESET default_transaction_read_only`);
    await found();
    await database
      .transaction(async (tx) => {
        await tx.query('SET TRANSACTION READ ONLY');
        await tx.query('UPDATE things SET number = number');
      })
      .catch(() => undefined);
    await sleep(1_100);
    const before = proxy.connections;
    expect([await found(), proxy.connections - before]).toEqual([nameOf(oldUrl), 1]);
  });

  it('a connection of look-ups is replaced at its age, without a look-up that fails or waits', async () => {
    const lookups = new LookupConnections({ connectionString: proxy.urlFor(newUrl) }, 1, 200);
    const pids = new Set<number>();
    try {
      await eventually(async () => {
        const [row] = await lookups.find<{ pid: number }>('SELECT pg_backend_pid() AS pid, $1::int', [1], 'pid');
        pids.add(row?.pid ?? 0);
        expect(pids.size).toBeGreaterThanOrEqual(3);
      });
      proxy.takeAway();
    } finally {
      proxy.bringBack();
      await lookups.end();
    }
  });
});
