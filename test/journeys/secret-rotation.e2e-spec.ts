import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  eventually,
  gatepost,
  gatepostReading,
  type GatepostServer,
  isProvided,
  linkIn,
  SERVERS,
  setSetting,
  signUp,
  startServices,
  startStandalone,
  TestProcess,
  type TestUser,
  unique,
  useServer,
  useSmtpSink,
} from '#testing';
import { LINK_EXPIRED, outcomeOf, uniqueEmail } from './suites/email-client.js';

const LONG_MS = 600_000;
const START_MS = 180_000;

type Environment = Readonly<Record<string, string>>;

/** The processes that know the secret, and how they are replaced one after the other. */
class RollingServices {
  #processes: { readonly service: string; stop(): Promise<unknown> }[];

  constructor(private readonly running: GatepostServer) {
    this.#processes = running.processes
      .filter(({ service }) => service !== 'gateway')
      .map(({ service, pid }) => ({ service, stop: () => endOf(pid) }));
  }

  /** Each process of these services gets a successor with these variables, and ends once that one is ready. */
  async roll(change: Environment, services = ['accounts', 'auth-linking', 'mail', 'push-delivery']): Promise<void> {
    const env = { ...this.running.env, ...change, GATEPOST_PORT: '0' };
    const replaced = this.#processes.filter(({ service }) => services.includes(service));
    const next = await Promise.all(replaced.map(({ service }) => this.#start(service, env)));
    for (const each of replaced) await each.stop();
    this.#processes = [...this.#processes.filter((each) => !replaced.includes(each)), ...next];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((each) => each.stop()));
  }

  async #start(service: string, env: Environment) {
    const started = TestProcess.start(`dist/apps/${service}/src/main.js`, [], env);
    const [, port = ''] = await started.untilLogged(/listens on port (\d+)/, START_MS);
    await eventually(async () => {
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    }, START_MS);
    return { service, stop: () => started.stop() };
  }
}

async function endOf(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  await eventually(() => {
    expect(() => process.kill(pid, 0)).toThrow();
  });
}

/** A user that logs in, reads and requests links without a pause, until stopped. */
class Traffic {
  readonly failures: string[] = [];
  requests = 0;
  #isOn = true;
  readonly #done: Promise<unknown>;

  constructor(
    api: ApiClient,
    private readonly user: TestUser,
  ) {
    const { username, password, session } = user;
    this.#done = Promise.all([
      this.#repeat(() => api.get('/1.1/users/me', { session })),
      this.#repeat(() => api.post('/1.1/login', { username, password })),
      this.#repeat(() => api.put(`/1.1/users/${user.id}`, { level: this.requests }, { session })),
      this.#repeat(() => api.post('/1.1/users', { username: unique('guest'), password })),
    ]);
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#done;
  }

  async #repeat(request: () => ReturnType<ApiClient['get']>): Promise<void> {
    while (this.#isOn) {
      const { status, text } = await request().catch((error: unknown) => ({ status: 0, text: String(error) }));
      this.requests += 1;
      if (status >= 300 || status === 0) this.failures.push(`${status} ${text} (${this.user.id})`);
    }
  }
}

describe.runIf(isProvided(...SERVERS))(
  'GATEPOST_SECRET, replaced while the services run (operations, "Secrets")',
  () => {
    const sink = useSmtpSink();
    let running: GatepostServer | undefined;
    let rolling: RollingServices | undefined;
    afterAll(async () => {
      await rolling?.stop();
      await running?.stop();
    });

    it(
      'loses no request and no session, and nothing at rest needs the old one in the end',
      async () => {
        const services = { gateway: 1, accounts: 2, 'auth-linking': 1, mail: 1, 'push-delivery': 1 };
        running = await startServices(services, sink().env());
        rolling = new RollingServices(running);
        const { id: appId } = running.app;
        const { GATEPOST_SECRET: before = '' } = running.env;
        const { stdout } = await gatepost(running, 'secrets', 'new');
        const after = stdout.trim();
        await setSetting(running, running.app, 'verifyEmailOnSignUp', 'true');
        await gatepostReading('hush', running, 'platforms', 'set', appId, 'lc_weapp', 'appId=wx1', 'appSecret=-');
        const url = 'https://sms.example.com/send';
        await gatepostReading(
          'h'.repeat(32),
          running,
          'text-messages',
          'set',
          appId,
          'webhook',
          `url=${url}`,
          'secret=-',
        );
        await gatepost(running, 'vendors', 'set', appId, 'web-push', 'subject=mailto:ops@example.org');

        const api = appClient(running);
        const addresses = { first: uniqueEmail(), second: uniqueEmail(), waiting: uniqueEmail() };
        const user = await signUp(api, { email: addresses.first });
        await signUp(api, { email: addresses.second });
        const [firstLink, secondLink] = await Promise.all(
          [addresses.first, addresses.second].map((address) =>
            eventually(async () => linkIn((await sink().mailsTo(address))[0]!)),
          ),
        );
        await sink().goDown();
        await signUp(api, { email: addresses.waiting });

        const traffic = new Traffic(api, user);
        // Only auth-linking and push-delivery read the values that they seal, and each is one process.
        await rolling.roll({ GATEPOST_ACCEPTED_SECRETS: after }, ['accounts', 'mail']);
        await rolling.roll({ GATEPOST_SECRET: after, GATEPOST_ACCEPTED_SECRETS: before });
        const rotated = await gatepost(running, 'secrets', 'rotate');
        expect([rotated.status, rotated.stderr]).toEqual([0, '']);
        expect(rotated.stdout).toMatch(/accounts, users: [1-9]\d* sealed anew/);
        expect(rotated.stdout).toMatch(/auth-linking, credentials of platforms: 1 sealed anew/);
        expect(rotated.stdout).toMatch(/mail, deliveries: 1 sealed anew/);
        expect(rotated.stdout).toMatch(/push-delivery, credentials of vendors: 1 sealed anew/);

        const needed = await gatepost(running, 'secrets', 'status');
        expect([needed.status, needed.stderr]).toEqual([1, '']);
        expect(needed.stdout).toMatch(/needed by codes of text messages, until/);
        expect(needed.stdout).toMatch(/needed by mailed links, until/);
        expect(needed.stdout).not.toMatch(/sealed with|\(accepted\)|unknown/);
        // A link of before is good as long as its secret is accepted.
        expect((await api.post(`/1.1/verifyEmail/${firstLink?.token}`, {})).status).toBe(200);

        await asIfAWeekHadPassed(running);
        const clean = await gatepost(running, 'secrets', 'status');
        expect(clean.stdout).toContain('No accepted secret is needed any longer.');
        expect(clean.status).toBe(0);
        await rolling.roll({ GATEPOST_SECRET: after, GATEPOST_ACCEPTED_SECRETS: '' });
        await traffic.stop();
        expect(traffic.failures).toEqual([]);
        expect(traffic.requests).toBeGreaterThan(50);

        expect((await api.get('/1.1/users/me', { session: user.session })).body['objectId']).toBe(user.id);
        expect((await gatepost(running, 'platforms', 'list', appId)).stdout).toContain('appSecret');
        expect((await gatepost(running, 'vendors', 'list', appId)).stdout).toContain('privateKey');
        expect((await gatepost(running, 'text-messages', 'show', appId)).stdout).toContain(url);
        await sink().goUp();
        await eventually(async () => {
          expect(await sink().mailsTo(addresses.waiting)).toHaveLength(1);
        }, START_MS);
        expect(await outcomeOf(api.post(`/1.1/verifyEmail/${secondLink?.token}`, {}))).toEqual(LINK_EXPIRED);
        expect((await gatepost(running, 'secrets', 'status')).stdout).toContain('No secret but the current one');
      },
      LONG_MS,
    );

    it('is not touched while processes seal with different secrets', async () => {
      const server = await startServices({ gateway: 0, accounts: 1, 'auth-linking': 1, mail: 0, 'push-delivery': 1 });
      const env = { ...server.env, GATEPOST_PORT: '0', GATEPOST_SECRET: randomBytes(32).toString('hex') };
      const mail = TestProcess.start('dist/apps/mail/src/main.js', [], env);
      try {
        await mail.untilLogged(/listens on port/, START_MS);
        await eventually(async () => {
          const { status, stderr } = await gatepost(server, 'secrets', 'rotate');
          expect([status, stderr]).toEqual([1, expect.stringContaining('Processes seal with different secrets')]);
        });
      } finally {
        await mail.stop();
        await server.stop();
      }
    });
  },
);

/** The time until earlier links and codes have expired. */
async function asIfAWeekHadPassed({ env }: GatepostServer): Promise<void> {
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] });
  await client.connect();
  await client.query("UPDATE accounts.secret_rotations SET completed_at = completed_at - interval '8 days'");
  await client.end();
}

describe('the secret of one process, replaced (operations, "Secrets")', () => {
  const first = useServer(startStandalone);

  it(
    'by a swap, a restart, a rotation; sessions go on',
    async () => {
      const user = await signUp(appClient(first()));
      const swap = await gatepost(first(), 'secrets', 'swap');
      expect([swap.status, swap.stderr]).toEqual([0, '']);
      expect((await gatepost(first(), 'secrets', 'swap')).stderr).toMatch(/swapped before/);
      expect((await gatepost(first(), 'secrets', 'forget')).stderr).toMatch(/still in use/);
      expect((await gatepost(first(), 'secrets', 'rotate')).stdout).toMatch(
        /No value needed resealing.* restart every process/,
      );
      await first().stop();
      const second = { ...(await startStandalone(first().env)), app: first().app };
      try {
        const me = async () =>
          (await appClient(second).get('/1.1/users/me', { session: user.session })).body['objectId'];
        expect(await me()).toBe(user.id);
        const { stdout } = await gatepost(second, 'secrets', 'rotate');
        expect(stdout).toMatch(/accounts, users: 1 sealed anew/);
        expect(stdout).not.toContain('No value needed');
        expect(stdout).toMatch(/console: does not run, so its one-time codes are left out/);
        expect(await me()).toBe(user.id);
        const forget = await gatepost(second, 'secrets', 'forget');
        expect([forget.status, forget.stdout]).toEqual([1, expect.stringMatching(/needed by mailed links, until/)]);
      } finally {
        await second.stop();
      }
    },
    LONG_MS,
  );
});
