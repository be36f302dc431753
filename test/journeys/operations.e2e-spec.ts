import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  newDatabase,
  signUp,
  startServices,
  TcpProxy,
  testRun,
  unique,
  isAlive,
} from '#testing';

const RECOVERY_MS = 20_000;

interface Readiness {
  readonly status: number;
  readonly problems: readonly string[];
}

async function readinessOf(port: number): Promise<Readiness> {
  const { status, body } = await new ApiClient(`http://127.0.0.1:${port}`, {}).acceptingUnavailable().get('/readyz');
  return { status, problems: (body['problems'] ?? []) as string[] };
}

function portOf({ processes }: GatepostServer, service: string): number {
  return processes.find((each) => each.service === service)!.port;
}

function pidOf({ processes }: GatepostServer, service: string, replica = 0): number {
  return processes.filter((each) => each.service === service)[replica]!.pid;
}

describe('services whose servers go away (architecture, promises kept so far)', () => {
  let running: GatepostServer;
  let postgres: TcpProxy;
  let rabbit: TcpProxy;
  let api: ApiClient;

  beforeAll(async () => {
    const databaseUrl = await newDatabase();
    postgres = await TcpProxy.to(new URL(databaseUrl), 5432);
    rabbit = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    running = await startServices(
      { gateway: 1, accounts: 1, mail: 1 },
      { DATABASE_URL: postgres.urlFor(databaseUrl), AMQP_URL: rabbit.urlFor(testRun().amqpUrl) },
    );
    api = appClient(running).acceptingUnavailable();
  });
  afterAll(async () => {
    postgres.bringBack();
    rabbit.bringBack();
    await running.stop();
    await Promise.all([postgres.close(), rabbit.close()]);
  });

  it('every process serves its health, readiness and metrics', async () => {
    for (const { port } of running.processes) {
      const open = new ApiClient(`http://127.0.0.1:${port}`, {});
      expect((await open.get('/healthz')).body).toEqual({ status: 'ok' });
      expect((await open.get('/readyz')).body).toEqual({ status: 'ready' });
      expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(
        'process_cpu_user_seconds_total',
      );
    }
  });

  it('the doctor says which service does not answer', async () => {
    const { status, stdout } = await gatepost(running, 'doctor');
    const silent = ['auth-linking', 'push-delivery'].map(
      (service) => `No ${service} service answers: checks that need it were skipped.\n`,
    );
    expect([status, stdout]).toEqual([1, silent.join('')]);
  });

  it('PostgreSQL gone: 503 with the reason, then all is well without a restart', async () => {
    const user = await signUp(api);
    postgres.takeAway();
    await eventually(async () => {
      const { status, problems } = await readinessOf(portOf(running, 'accounts'));
      expect([status, problems.some((problem) => problem.startsWith('postgresql (accounts): '))]).toEqual([503, true]);
    });
    const startedAt = Date.now();
    const { status, headers, body } = await api.get('/1.1/users/me', { session: user.session });
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 503, '1']);
    expect(Date.now() - startedAt).toBeLessThan(6_000);
    expect(JSON.stringify(body)).not.toMatch(/ECONN|postgres|127\.0\.0\.1/i);
    postgres.bringBack();
    await eventually(async () => {
      expect((await api.get('/1.1/users/me', { session: user.session })).body['objectId']).toBe(user.id);
      expect((await readinessOf(portOf(running, 'accounts'))).status).toBe(200);
    }, RECOVERY_MS);
  });

  it('PostgreSQL silent: 503 within the deadline', async () => {
    postgres.silence();
    const startedAt = Date.now();
    expect((await api.get(`/1.1/users/${'a'.repeat(24)}`)).status).toBe(503);
    expect(Date.now() - startedAt).toBeLessThan(8_000);
    postgres.takeAway();
    postgres.bringBack();
    await eventually(async () => {
      expect((await api.get(`/1.1/users/${'a'.repeat(24)}`)).body['code']).toBe(211);
    }, RECOVERY_MS);
  });

  it('a query that takes too long: 124, while everything else goes on', async () => {
    const user = await signUp(api);
    const locker = new pg.Client({ connectionString: running.env['DATABASE_URL'] });
    await locker.connect();
    try {
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE accounts.roles IN ACCESS EXCLUSIVE MODE');
      const query = masterClient(running).get('/1.1/roles');
      expect((await api.get('/healthz')).status).toBe(200);
      const { status, body } = await query;
      expect([status, body['code']]).toEqual([400, 124]);
    } finally {
      await locker.end();
    }
    expect((await masterClient(running).get('/1.1/roles')).status).toBe(200);
    expect((await api.get(`/1.1/users/${user.id}`)).status).toBe(200);
  });

  it('RabbitMQ gone: 503 at once with the reason, then all is well without a restart', async () => {
    rabbit.takeAway();
    await eventually(async () => {
      const { status, problems } = await readinessOf(portOf(running, 'gateway'));
      expect([status, problems.some((problem) => problem.startsWith('message broker: '))]).toEqual([503, true]);
    });
    expect((await readinessOf(portOf(running, 'mail'))).status).toBe(503);
    const startedAt = Date.now();
    const { status, headers } = await api.get(`/1.1/users/${'a'.repeat(24)}`);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(Date.now() - startedAt).toBeLessThan(2_000);
    expect((await api.get('/healthz')).status).toBe(200);
    rabbit.bringBack();
    await eventually(async () => {
      await signUp(api);
      for (const { port } of running.processes) expect((await readinessOf(port)).status).toBe(200);
    }, RECOVERY_MS);
  });

  it('no accounts service: 503 at once', async () => {
    process.kill(pidOf(running, 'accounts'), 'SIGKILL');
    await eventually(async () => {
      expect((await readinessOf(portOf(running, 'gateway'))).status).toBe(503);
    });
    const startedAt = Date.now();
    expect((await api.get(`/1.1/users/${'a'.repeat(24)}`)).status).toBe(503);
    expect(Date.now() - startedAt).toBeLessThan(7_000);
  });
});

describe('services that are stopped (architecture, promises kept so far)', () => {
  /** Hashing keeps sign-ups in flight, far below the 3 seconds after which it refuses on a busy machine. */
  const SLOW = { GATEPOST_PASSWORD_COST: '8' };
  const manySignUps = (api: ApiClient, done: (body: Json) => void) =>
    Array.from({ length: 20 }, async () => {
      const { status, body } = await api.post('/1.1/users', { username: unique('flight'), password: 'p' });
      done(body);
      return status;
    });

  it.each(['gateway', 'accounts'])(
    'a process that gets SIGTERM completes the sign-ups in flight and ends: %s',
    async (service) => {
      const running = await startServices({ gateway: 1, accounts: 2 }, SLOW);
      try {
        let first: (() => void) | undefined;
        const isFirstDone = new Promise<void>((resolve) => (first = resolve));
        const api = appClient(running).acceptingUnavailable();
        const replies = manySignUps(api, () => first?.());
        await isFirstDone;
        process.kill(pidOf(running, service), 'SIGTERM');
        expect(await Promise.all(replies)).toEqual(replies.map(() => 201));
        await eventually(() => {
          expect(isAlive(pidOf(running, service))).toBe(false);
        });
        if (service === 'accounts') expect((await signUp(api)).id).toBeTruthy();
      } finally {
        await running.stop();
      }
    },
  );

  it('GATEPOST_DRAIN_SECONDS: says "draining", serves on and lets go of connections, then ends', async () => {
    const running = await startServices({ gateway: 1, accounts: 1 }, { GATEPOST_DRAIN_SECONDS: '1' });
    try {
      process.kill(pidOf(running, 'gateway'), 'SIGTERM');
      await eventually(async () => {
        expect(await readinessOf(portOf(running, 'gateway'))).toEqual({ status: 503, problems: ['draining'] });
      });
      expect((await signUp(appClient(running))).id).toBeTruthy();
      expect((await appClient(running).get('/1.1/ping')).headers.get('connection')).toBe('close');
      await eventually(() => {
        expect(isAlive(pidOf(running, 'gateway'))).toBe(false);
      });
    } finally {
      await running.stop();
    }
  });

  it('npm run services ends all its processes when it is stopped', async () => {
    const running = await startServices({ gateway: 2, accounts: 2 });
    const pids = running.processes.map(({ pid }) => pid);
    expect(running.processes.map(({ service }) => service).sort()).toEqual([
      'accounts',
      'accounts',
      'gateway',
      'gateway',
    ]);
    const exit = await running.main.stop('SIGINT');
    expect(exit).toEqual({ status: 0, signal: null });
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
