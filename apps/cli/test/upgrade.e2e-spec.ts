import { describe, expect, it } from 'vitest';
import { migrate } from '#database';
import { ApiClient, eventually, gatepost, gatepostProcess, newDatabase, startServices, useSmtpSink } from '#testing';
import { databasesAt } from '../src/commands/migrate.command.js';
import {
  ADA,
  EARLIER_APP,
  EARLIER_SECRET,
  INSTALLATION,
  MAILED,
  NOTIFICATION,
  SchemaContents,
} from './earlier-data.js';

/** A database after the first migration of each service, with data in it. */
async function earliestDatabase(): Promise<string> {
  const url = await newDatabase();
  for (const database of databasesAt({ accounts: url, authLinking: url, console: url, mail: url, push: url })) {
    await migrate({ ...database, migrations: database.migrations.slice(0, 1) });
    const contents = await SchemaContents.open(database);
    await contents.fill();
    await contents.close();
  }
  return url;
}

describe('an upgrade from the earliest state of all schemas', () => {
  const sink = useSmtpSink();

  it('is announced by `migrate --status`, and serves the existing data', { timeout: 180_000 }, async () => {
    const DATABASE_URL = await earliestDatabase();
    const before = await gatepostProcess({ env: { DATABASE_URL } }, ['migrate', '--status']);
    expect([before.status, before.stdout]).toEqual([1, expect.stringContaining('accounts: pending: CreateRoles')]);
    const server = await startServices(
      { gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 },
      { ...sink().env(), DATABASE_URL, GATEPOST_SECRET: EARLIER_SECRET },
    );
    const [url = ''] = server.baseUrls;
    const [app, master] = [ApiClient.forApp(url, EARLIER_APP), ApiClient.forMaster(url, EARLIER_APP)];
    try {
      const { username, password, session } = ADA;
      const login = await app.post('/1.1/login', { username, password });
      expect(login.body).toMatchObject({ objectId: ADA.id, score: 7 });
      expect((await app.get('/1.1/users/me', { session })).body).toMatchObject({ objectId: ADA.id });
      const score = { __op: 'Increment', amount: 1 };
      expect((await app.put(`/1.1/users/${ADA.id}`, { score }, { session })).status).toBe(200);
      expect((await master.get(`/1.1/installations/${INSTALLATION}`)).body).toMatchObject({ channels: ['news'] });
      expect((await master.get(`/1.1/notifications/${NOTIFICATION}`)).body).toMatchObject({ status: 'done' });
      expect((await gatepost(server, 'platforms', 'list', EARLIER_APP.id)).stdout).toContain('wx0123456789');
      await eventually(async () => {
        expect(await sink().mailsTo(MAILED)).toHaveLength(1);
      }, 30_000);
      const after = await gatepost(server, 'migrate', '--status');
      expect([after.status, after.stdout]).toEqual([0, expect.stringContaining('accounts: up to date')]);
    } finally {
      await server.stop();
    }
  });
});
