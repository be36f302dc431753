import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  eventually,
  type GatepostServer,
  isProvided,
  linkIn,
  linkSentBy,
  SERVERS,
  setSetting,
  signUp,
  type SmtpSink,
  startServices,
  startStandalone,
  TcpProxy,
  TestProcess,
  testRun,
  useServer,
  useSmtpSink,
} from '#testing';
import { LINK_EXPIRED, outcomeOf, uniqueEmail } from './suites/email-client.js';

const MANY = 1_000;
const AT_ONCE = 25;
const QUICK_MS = 4_000;
/** A mail of a server that was out of reach is tried again after half a minute at most. */
const RETRIED_MS = 40_000;
const LONG_MS = 120_000;
/** Long enough for the mail to leave on a busy machine: one whose link has expired is not sent. */
const LINK_SECONDS = 5;

const addresses = (count: number) => Array.from({ length: count }, () => uniqueEmail());

/** Signs up with each address, and expects that nothing stands in the way. */
async function signUpAll(api: ApiClient, all: readonly string[]): Promise<void> {
  const waiting = [...all];
  const signUpOneByOne = async () => {
    for (let email = waiting.pop(); email !== undefined; email = waiting.pop()) await signUp(api, { email });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, signUpOneByOne));
}

async function switchOn(server: GatepostServer): Promise<void> {
  await setSetting(server, server.app, 'verifyEmailOnSignUp', 'true');
  await eventually(async () => {
    const { body } = await signUp(appClient(server), { email: uniqueEmail('setting.example') });
    expect(body['emailVerified']).toBe(false);
  });
}

/** Every address has a mail; who has several has the same one. */
async function everyoneHasOne(sink: SmtpSink, all: readonly string[], timeoutMs: number): Promise<void> {
  await eventually(() => {
    const reached = new Set(sink.kept.flatMap(({ to }) => to));
    expect(all.filter((address) => !reached.has(address))).toEqual([]);
  }, timeoutMs);
  const messageIds = new Map<string, Set<string>>();
  for (const { to, messageId } of await sink.allMails())
    messageIds.set(to[0] ?? '', (messageIds.get(to[0] ?? '') ?? new Set()).add(messageId));
  expect(all.filter((address) => messageIds.get(address)?.size !== 1)).toEqual([]);
}

describe.runIf(isProvided(...SERVERS))('mails of services', () => {
  const sink = useSmtpSink();
  let broker: TcpProxy;
  let running: GatepostServer;
  const started: TestProcess[] = [];
  const startMail = async () => {
    const env = { ...running.env, GATEPOST_PORT: '0', AMQP_URL: testRun().amqpUrl };
    const mail = TestProcess.start('dist/apps/mail/src/main.js', [], env);
    started.push(mail);
    await mail.untilLogged(/mail listens on port/);
    return mail;
  };
  const query = async <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: running.env['DATABASE_URL'] });
    await client.connect();
    const { rows } = await client.query<Row>(sql, values);
    await client.end();
    return rows;
  };
  /** As if the time of a killed process had passed: what it had in hand is due again. */
  const endLeases = () => query('UPDATE mail.deliveries SET next_attempt_at = now() WHERE lease IS NOT NULL');
  /** The deliveries of mails to addresses. */
  const statesOf = async (all: readonly string[]) => {
    const sql = 'SELECT recipient, status FROM mail.deliveries WHERE recipient = ANY($1)';
    const rows = await query<{ recipient: string; status: string }>(sql, [all]);
    return all.map((address) => rows.find(({ recipient }) => recipient === address)?.status);
  };

  beforeAll(async () => {
    broker = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    const env = { ...sink().env(), AMQP_URL: broker.urlFor(testRun().amqpUrl) };
    running = await startServices({ gateway: 1, accounts: 2, mail: 0 }, env);
    await switchOn(running);
  });
  afterEach(async () => {
    sink().mend();
    await sink().goUp();
    await Promise.all(started.splice(0).map((mail) => mail.stop()));
  });
  afterAll(async () => {
    await running.stop();
    await broker.close();
  });

  it(
    'wait for mail: a thousand sign-ups without it are a thousand mails once it is there, none twice',
    async () => {
      const all = addresses(MANY);
      await signUpAll(appClient(running), all);
      expect(sink().kept).toEqual([]);
      await startMail();
      await everyoneHasOne(sink(), all, RETRIED_MS);
      await signUpAll(appClient(running), addresses(1));
      const sent = sink().kept.map(({ to }) => to[0]);
      expect(sent.filter((address) => address !== undefined && all.includes(address))).toHaveLength(MANY);
    },
    LONG_MS,
  );

  it(
    'leave by two processes: where one is killed, every mail at least once, and no second one but the same again',
    async () => {
      const [killed] = await Promise.all([startMail(), startMail()]);
      sink().slowDown(50);
      const before = sink().kept.length;
      const all = addresses(200);
      const signUps = signUpAll(appClient(running), all);
      await eventually(() => {
        expect(sink().kept.length).toBeGreaterThan(before + 50);
      }, RETRIED_MS);
      killed.signal('SIGKILL');
      await killed.exited;
      await signUps;
      await endLeases();
      await everyoneHasOne(sink(), all, RETRIED_MS);
      expect(sink().kept.length - before).toBeLessThanOrEqual(all.length + 10);
    },
    LONG_MS,
  );

  it('are the same again where mail ends between their arrival and its own note', async () => {
    sink().break('mute');
    const mail = await startMail();
    const [email = ''] = addresses(1);
    await signUpAll(appClient(running), [email]);
    await eventually(async () => {
      expect(await sink().mailsTo(email)).toHaveLength(1);
    });
    await mail.stop('SIGKILL');
    sink().mend();
    await endLeases();
    await startMail();
    await eventually(async () => {
      expect(await sink().mailsTo(email)).toHaveLength(2);
    });
    const [first, second] = await sink().mailsTo(email);
    expect([second?.messageId, second?.text]).toEqual([first?.messageId, first?.text]);
  });

  it('are no longer sent to a user who has gone, or to an address that is not his any more', async () => {
    const api = appClient(running);
    const [deleted = '', left = '', taken = '', kept = ''] = addresses(4);
    await sink().goDown();
    await startMail();
    const goner = await signUp(api, { email: deleted });
    const mover = await signUp(api, { email: left });
    await signUp(api, { email: kept });
    await eventually(async () => {
      expect(await statesOf([deleted, left, kept])).toEqual(['queued', 'queued', 'queued']);
    });
    await api.delete(`/1.1/users/${goner.id}`, { session: goner.session });
    await api.put(`/1.1/users/${mover.id}`, { email: taken }, { session: mover.session });
    await eventually(async () => {
      expect(await statesOf([deleted, left, kept, taken])).toEqual(['dropped', 'dropped', 'queued', 'queued']);
    });
    await sink().goUp();
    await everyoneHasOne(sink(), [taken, kept], RETRIED_MS);
    const { token } = linkIn((await sink().mailsTo(taken))[0]!);
    expect((await new ApiClient(running.baseUrls[0] ?? '', {}).post(`/1.1/verifyEmail/${token}`)).status).toBe(200);
    for (const address of [deleted, left]) expect(await sink().mailsTo(address)).toEqual([]);
  });

  it(
    'keep no sign-up waiting: with SMTP slow, away, refusing one or breaking off; they leave later',
    async () => {
      await startMail();
      const api = appClient(running);
      const timed = async (email: string) => {
        const startedAt = performance.now();
        await signUp(api, { email });
        expect(performance.now() - startedAt).toBeLessThan(QUICK_MS);
      };
      const [slow = '', away = '', refused = '', delayed = '', broken = ''] = addresses(5);
      sink().slowDown(QUICK_MS);
      await timed(slow);
      await everyoneHasOne(sink(), [slow], RETRIED_MS);
      sink().mend();
      await sink().goDown();
      await timed(away);
      await sink().goUp();
      sink().refuse(refused, 550);
      sink().refuse(delayed, 450);
      await timed(refused);
      await timed(delayed);
      await everyoneHasOne(sink(), [away], RETRIED_MS);
      sink().break('drop');
      await timed(broken);
      await eventually(async () => {
        expect(await sink().mailsTo(broken)).not.toEqual([]);
      }, RETRIED_MS);
      sink().mend();
      await everyoneHasOne(sink(), [delayed, broken], RETRIED_MS);
      expect(await sink().mailsTo(refused)).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'survive that RabbitMQ goes away: who was signed up gets one',
    async () => {
      await startMail();
      const api = appClient(running).acceptingUnavailable();
      const all = addresses(100);
      const answers = all.map(async (email) => {
        const { status } = await api.post('/1.1/users', { username: email, password: 'p', email });
        return status;
      });
      await Promise.race(answers);
      broker.takeAway();
      const statuses = await Promise.all(answers);
      broker.bringBack();
      const signedUp = all.filter((_, index) => statuses[index] === 201);
      expect(signedUp.length).toBeGreaterThan(0);
      await everyoneHasOne(sink(), signedUp, RETRIED_MS);
      await eventually(() => signUp(api), RETRIED_MS);
    },
    LONG_MS,
  );
});

describe('mails of the standalone server', () => {
  const sink = useSmtpSink({ tls: 'starttls', account: { user: 'gatepost', password: 'sesame' } });

  it(
    'wait for SMTP through kill -9, and then leave encrypted and under its account',
    async () => {
      await sink().goDown();
      const first = await startStandalone(sink().env());
      await switchOn(first);
      const all = addresses(20);
      await signUpAll(appClient(first), all);
      await first.main.stop('SIGKILL');
      await sink().goUp();
      const second = await startStandalone(first.env);
      await everyoneHasOne(sink(), all, RETRIED_MS);
      expect(second.main.stderr).not.toContain('sesame');
      await second.stop();
    },
    LONG_MS,
  );
});

describe('mailed links whose time is short', () => {
  const server = useServer(() =>
    startStandalone({
      GATEPOST_VERIFICATION_LINK_SECONDS: String(LINK_SECONDS),
      GATEPOST_RESET_LINK_SECONDS: String(LINK_SECONDS),
    }),
  );

  beforeAll(() => switchOn(server()));

  it.each([
    ['requestEmailVerify', 'verifyEmail'],
    ['requestPasswordReset', 'resetPassword'],
  ])('end: those of %s', async (path, use) => {
    const api = appClient(server());
    const email = uniqueEmail();
    const { password } = await signUp(api, { email });
    const { token } = await linkSentBy(server(), email, () => api.post(`/1.1/${path}`, { email }));
    await sleep(LINK_SECONDS * 1_000);
    const page = new ApiClient(server().baseUrls[0] ?? '', {});
    expect(await outcomeOf(page.post(`/1.1/${use}/${token}`, { password: 'new' }))).toEqual(LINK_EXPIRED);
    expect((await api.post('/1.1/login', { email, password })).body['emailVerified']).toBe(false);
  });
});
