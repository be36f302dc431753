import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  appClient,
  gatepost,
  type GatepostServer,
  isProvided,
  masterClient,
  newDatabase,
  newFolder,
  newNamespace,
  SERVERS,
  setSetting,
  signUp,
  startServices,
  startStandalone,
  unique,
} from '#testing';

const LONG_MS = 600_000;

/** Runs a command of the operations guide. */
function run(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
}

describe.runIf(isProvided(...SERVERS, 'postgresql-client'))('a backup of services (operations, "Backup")', () => {
  it(
    'made while they run is restored into another database, with another Redis: sessions, keys and pushes that wait are there',
    async () => {
      const replicas = { gateway: 1, accounts: 1, 'push-delivery': 1 };
      const first = await startServices(replicas);
      const dump = join(newFolder('backup'), 'gatepost.dump');
      const [before, push] = [await signUp(appClient(first)), { where: {}, data: { alert: 'later' } }];
      await setSetting(first, first.app, 'hideContact', 'true');
      const at = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await masterClient(first).post('/1.1/push', { ...push, push_time: at });
      run('pg_dump', '--format=custom', `--file=${dump}`, first.env['DATABASE_URL'] ?? '');
      const after = await signUp(appClient(first));
      await first.stop();

      const databaseUrl = await newDatabase();
      run('pg_restore', '--no-owner', '--exit-on-error', `--dbname=${databaseUrl}`, dump);
      const { GATEPOST_SECRET: secret = '', ...given } = keysOf(first);
      const env = { ...given, GATEPOST_SECRET: secret, DATABASE_URL: databaseUrl, GATEPOST_NAMESPACE: newNamespace() };
      const second = await startServices(replicas, env);
      try {
        const restored = { ...second, app: first.app };
        const api = appClient(restored);
        expect((await api.get('/1.1/users/me', { session: before.session })).body['objectId']).toBe(before.id);
        const { username, password } = before;
        expect((await api.post('/1.1/login', { username, password })).body['sessionToken']).toBe(before.session);
        expect((await api.get('/1.1/users/me', { session: after.session })).body['code']).toBe(211);
        expect((await gatepost(second, 'apps', 'show', first.app.id)).stdout).toMatch(/hideContact\s+true/);
        const status = await gatepost(second, 'push', 'status', first.app.id, String(body['objectId']));
        expect([status.status, status.stderr]).toEqual([0, '']);
        expect((await gatepost(second, 'migrate')).stdout).toMatch(/^accounts: up to date$/m);
      } finally {
        await second.stop();
      }
    },
    LONG_MS,
  );
});

/** The secrets that the backup does not contain, and the restored deployment needs. */
function keysOf({ env, app }: GatepostServer): Record<string, string> {
  return {
    GATEPOST_APP_ID: app.id,
    GATEPOST_APP_KEY: app.appKey,
    GATEPOST_MASTER_KEY: app.masterKey,
    GATEPOST_SECRET: env['GATEPOST_SECRET'] ?? '',
  };
}

describe('a backup of one process (operations, "Backup")', () => {
  it(
    'is its data folder, copied while it stands still, and works where it is put back',
    async () => {
      const first = await startStandalone();
      const user = await signUp(appClient(first), { username: unique('kept') });
      await first.stop();
      const folder = first.env['GATEPOST_DATA_DIR'] ?? '';
      const elsewhere = newFolder('restored');
      const archive = join(newFolder('backup'), 'backup.tar');
      // As root the database may lie elsewhere, and belongs to another user.
      run('tar', '-cpPf', archive, '-C', folder, '.', realpathSync(join(folder, 'postgres')));
      run('tar', '-xpPf', archive, '-C', elsewhere);
      const second = await startStandalone({ ...first.env, GATEPOST_DATA_DIR: elsewhere });
      try {
        const api = appClient({ ...second, app: first.app });
        expect((await api.get('/1.1/users/me', { session: user.session })).body['objectId']).toBe(user.id);
      } finally {
        await second.stop();
      }
    },
    LONG_MS,
  );
});
