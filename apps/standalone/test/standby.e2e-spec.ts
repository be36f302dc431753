import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '#database';
import { eventually } from '#testing';
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.js';
import {
  ensureCluster,
  giveToUser,
  postgresBinaries,
  type PostgresOptions,
  postgresUser,
} from '../src/embedded-postgres/postgres-files.js';

describe('a standby of PostgreSQL, where a name leads before a failover has ended', { timeout: 60_000 }, () => {
  let home: string;
  let server: EmbeddedPostgres;
  let database: Database;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'gatepost-standby-'));
    const user = postgresUser();
    const folder = join(home, 'postgres');
    const options: PostgresOptions = {
      binaries: postgresBinaries(user),
      folder,
      password: 'of the test',
      logFile: join(home, 'log'),
      user,
      // As at initdb: a standby does not start with fewer.
      connections: 100,
    };
    mkdirSync(folder, { mode: 0o700 });
    giveToUser(options, home, folder);
    await ensureCluster(options);
    writeFileSync(join(folder, 'standby.signal'), '');
    giveToUser(options, join(folder, 'standby.signal'));
    server = new EmbeddedPostgres(options);
    await server.start();
    database = new Database({
      url: server.url,
      schema: 'public',
      migrations: [],
      poolSize: 2,
      applicationName: 'standby',
    });
  }, 120_000);
  afterAll(async () => {
    await database.close();
    await server.stop();
    rmSync(home, { recursive: true });
  });

  it('answers nothing, not even reads, until it is promoted', async () => {
    const lookUp = () => database.lookUp('SELECT $1::int AS one', [1], 'standby.one');
    const read = () => database.query('SELECT 1 AS one');
    const write = () => database.transaction((tx) => tx.query('CREATE TABLE IF NOT EXISTS things ()'));
    const refused = {
      errorName: 'SERVICE_UNAVAILABLE',
      cause: { message: 'PostgreSQL: 25006 (a standby, or read-only)' },
    };
    for (const work of [lookUp, read, write]) await expect(work()).rejects.toMatchObject(refused);
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    await admin.query('SELECT pg_promote()');
    await admin.end();
    await eventually(async () => {
      expect([await lookUp(), await read(), await write()]).toEqual([[{ one: 1 }], [{ one: 1 }], []]);
    });
  });
});
