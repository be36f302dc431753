import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  eventually,
  freePorts,
  gatepost,
  type GatepostServer,
  newFolder,
  signUp,
  startStandalone,
  TestProcess,
  unique,
  isAlive,
} from '#testing';

/** Promised: 5 seconds. The test allows for a machine that is busy with other tests, and prints the figure. */
const READY_AGAIN_MS = 15_000;

/** PostgreSQL looks through its log first. */
const REVIVED_MS = 20_000;

const folderOf = ({ env }: GatepostServer): string => env['GATEPOST_DATA_DIR'] ?? '';

/** The process id of the embedded PostgreSQL. */
function postgresPid(server: GatepostServer): number {
  return Number(readFileSync(join(folderOf(server), 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Starts the server once more, over the same data, as it was started before. */
function startAgain({ env }: GatepostServer, changes: Record<string, string> = {}): Promise<GatepostServer> {
  return startStandalone({ ...env, ...changes });
}

function capture(pattern: RegExp, text: string): string {
  const [, found] = pattern.exec(text) ?? [];
  if (found === undefined) throw new Error(`${String(pattern)} is not in: ${text}`);
  return found;
}

/** The request of a printed curl line, so that the test needs no curl. */
function parseCurl(text: string): { method: string; url: string; headers: Record<string, string>; body: string } {
  const line = capture(/^\s*(curl .*)$/m, text);
  const headers = [...line.matchAll(/-H '([^:']+): ([^']+)'/g)].map(([, name, value]) => [name, value] as const);
  return {
    method: capture(/-X (\w+)/, line),
    url: capture(/(http\S+)/, line),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: capture(/-d '([^']+)'/, line),
  };
}

describe('the life of the standalone server', () => {
  it('prints keys and a first request that works as printed, once', async () => {
    const made = { GATEPOST_APP_ID: '', GATEPOST_APP_KEY: '', GATEPOST_MASTER_KEY: '' };
    const first = await startStandalone(made);
    const printed = first.main.stdout;
    const { method, url, headers, body } = parseCurl(printed);
    const response = await fetch(url, { method, headers, body });
    expect([response.status, await response.json()]).toMatchObject([201, { username: 'ada' }]);
    const masterKey = capture(/Master key\s+(\S+)/, printed);
    const keys = { 'x-lc-id': capture(/Application id\s+(\S+)/, printed), 'x-lc-key': `${masterKey},master` };
    const master = new ApiClient(first.baseUrls[0] ?? '', keys);
    expect((await master.get('/1.1/users?count=1&limit=0')).body['count']).toBe(1);
    await first.stop();

    const second = await startAgain(first, made);
    expect(second.main.stdout).not.toContain(masterKey);
    expect((await gatepost(second, 'apps', 'list')).stdout).toContain(masterKey);
    expect(await gatepost(second, 'doctor')).toMatchObject({ status: 0, stdout: 'No problems found.\n' });
    await second.stop();
  });

  it('keeps its data, and is ready again soon', async () => {
    const first = await startStandalone();
    const user = await signUp(appClient(first), { color: 'red' });
    expect(await first.main.stop()).toEqual({ status: 0, signal: null });

    const startedAt = performance.now();
    const second = await startAgain(first);
    const readyAfterMs = performance.now() - startedAt;
    process.stdout.write(`standalone server: ready again after ${readyAfterMs.toFixed(0)} ms\n`);
    expect(readyAfterMs).toBeLessThan(READY_AGAIN_MS);
    const again = ApiClient.forApp(second.baseUrls[0] ?? '', first.app);
    expect((await again.get('/1.1/users/me', { session: user.session })).body['color']).toBe('red');
    await second.stop();
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s ends it with what is in flight done, and PostgreSQL too',
    async (signal) => {
      const server = await startStandalone({ GATEPOST_PASSWORD_COST: '10' });
      const postgres = postgresPid(server);
      let first: (() => void) | undefined;
      const isFirstDone = new Promise<void>((resolve) => (first = resolve));
      const replies = Array.from({ length: 4 }, async () => {
        const { status } = await appClient(server).post('/1.1/users', { username: unique('flight'), password: 'p' });
        first?.();
        return status;
      });
      await isFirstDone;
      const exit = server.main.stop(signal);
      expect(await Promise.all(replies)).toEqual(replies.map(() => 201));
      expect(await exit).toEqual({ status: 0, signal: null });
      expect(isAlive(postgres)).toBe(false);
      expect(existsSync(join(folderOf(server), 'gatepost.sock'))).toBe(false);
    },
  );

  it('says in one line that another one runs on its data', async () => {
    const first = await startStandalone();
    const second = TestProcess.start('tools/start.mjs', [], {
      ...first.env,
      GATEPOST_PORT: String(await freePorts(1)),
    });
    expect(await second.exited).toEqual({ status: 1, signal: null });
    expect(second.stderr.trim().split('\n')).toEqual([expect.stringMatching(/already running.*GATEPOST_DATA_DIR/)]);
    expect((await appClient(first).get('/readyz')).status).toBe(200);
    await first.stop();
  });

  it('says in one line that its port is in use, and leaves no PostgreSQL behind', async () => {
    const blocker = createServer();
    const port = await new Promise<number>((resolve) => {
      blocker.listen(0, '127.0.0.1', () => {
        resolve((blocker.address() as { port: number }).port);
      });
    });
    const folder = newFolder('data');
    const server = TestProcess.start('tools/start.mjs', [], {
      GATEPOST_DATA_DIR: folder,
      GATEPOST_PORT: String(port),
      GATEPOST_HOST: '127.0.0.1',
    });
    expect(await server.exited).toEqual({ status: 1, signal: null });
    expect(server.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`Port ${port} is already in use.*GATEPOST_PORT`)),
    ]);
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
    await new Promise((resolve) => blocker.close(resolve));
  });

  it('starts after kill -9, with every acknowledged write, though its PostgreSQL was left over', async () => {
    const first = await startStandalone();
    const postgres = postgresPid(first);
    const users = await Promise.all(Array.from({ length: 10 }, () => signUp(appClient(first))));
    await first.main.stop('SIGKILL');
    const second = await startAgain(first);
    const api = ApiClient.forApp(second.baseUrls[0] ?? '', first.app);
    for (const user of users) expect((await api.get('/1.1/users/me', { session: user.session })).status).toBe(200);
    expect(isAlive(postgres)).toBe(false);
    await second.stop();
  });

  it('starts after kill -9 of both processes', async () => {
    const first = await startStandalone();
    const postgres = postgresPid(first);
    const user = await signUp(appClient(first));
    process.kill(postgres, 'SIGKILL');
    // Until its parent has collected it; an uncollected process id would look used.
    await eventually(() => {
      expect(existsSync(`/proc/${postgres}`)).toBe(false);
    });
    await first.main.stop('SIGKILL');
    const second = await startAgain(first);
    const api = ApiClient.forApp(second.baseUrls[0] ?? '', first.app);
    expect((await api.get('/1.1/users/me', { session: user.session })).status).toBe(200);
    await second.stop();
  });

  it('starts where the lock file of a killed PostgreSQL has the id of another process', async () => {
    const first = await startStandalone();
    const lockFile = join(folderOf(first), 'postgres', 'postmaster.pid');
    const left = readFileSync(lockFile, 'utf8');
    await first.stop();
    // PostgreSQL takes a process of its own user for its server: as root this one would not do.
    const asPostgres = process.getuid?.() === 0 ? { uid: statSync(dirname(lockFile)).uid } : {};
    const other = spawn('sleep', ['60'], { stdio: 'ignore', ...asPostgres });
    try {
      writeFileSync(lockFile, left.replace(/^\d+/, String(other.pid)));
      const second = await startAgain(first);
      await second.stop();
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('drains the API and the console at once, and logs under its own name', async () => {
    const consolePort = String(await freePorts(1));
    const server = await startStandalone({ GATEPOST_DRAIN_SECONDS: '4', GATEPOST_CONSOLE_PORT: consolePort });
    const exit = server.main.stop();
    for (const origin of [...server.baseUrls, `http://127.0.0.1:${consolePort}`])
      await eventually(async () => {
        expect(await (await fetch(`${origin}/readyz`)).json()).toMatchObject({ problems: ['draining'] });
      });
    expect(await exit).toEqual({ status: 0, signal: null });
    const names = Array.from(server.main.stderr.matchAll(/"service":"([^"]+)"/g), ([, name]) => name);
    expect(new Set(names)).toEqual(new Set(['standalone']));
  });

  it('starts PostgreSQL with connections for all pools, however large', async () => {
    const server = await startStandalone({ GATEPOST_DATABASE_POOL: '60' });
    const options = readFileSync(join(folderOf(server), 'postgres', 'postmaster.opts'), 'utf8');
    expect(Number(/max_connections=(\d+)/.exec(options)?.[1])).toBeGreaterThan(120);
    await server.stop();
  });

  it('runs in a folder with a comma and quotation marks, and logs no refused sign-up in postgres.log', async () => {
    const folder = join(newFolder('data'), 'a, "b"');
    const server = await startStandalone({ GATEPOST_DATA_DIR: folder });
    const body = { username: unique('twice'), password: 'p' };
    for (const status of [201, 400]) expect((await appClient(server).post('/1.1/users', body)).status).toBe(status);
    expect(readFileSync(join(folder, 'postgres.log'), 'utf8')).not.toContain('ERROR');
    await server.stop();
  });

  it('starts PostgreSQL again where it ends by itself', async () => {
    const server = await startStandalone();
    const api = appClient(server).acceptingUnavailable();
    const user = await signUp(api);
    const postgres = postgresPid(server);
    process.kill(postgres, 'SIGKILL');
    const revived = await eventually(async () => {
      const pid = postgresPid(server);
      expect([pid > 0, pid === postgres]).toEqual([true, false]);
      expect((await api.get('/1.1/users/me', { session: user.session })).body['objectId']).toBe(user.id);
      return pid;
    }, REVIVED_MS);
    expect(await server.main.stop()).toEqual({ status: 0, signal: null });
    expect(isAlive(revived)).toBe(false);
  });

  it('ends with status 70 where PostgreSQL cannot be started again', async () => {
    const server = await startStandalone();
    rmSync(join(folderOf(server), 'postgres', 'global', 'pg_control'));
    process.kill(postgresPid(server), 'SIGKILL');
    expect(await server.main.exited).toEqual({ status: 70, signal: null });
    expect(server.main.stderr).toMatch(/^PostgreSQL ends repeatedly: see .*postgres\.log$/m);
  });

  it.runIf(process.getuid?.() === 0)('works in a folder that only root can enter', async () => {
    const closed = join(newFolder('closed'), 'inner');
    mkdirSync(closed, { mode: 0o700 });
    const server = await startStandalone({ GATEPOST_DATA_DIR: join(closed, 'data') });
    const home = realpathSync(join(folderOf(server), 'postgres'));
    try {
      expect((await signUp(appClient(server))).id).toBeTruthy();
    } finally {
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
