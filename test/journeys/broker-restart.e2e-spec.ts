import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  eventually,
  type GatepostServer,
  setSetting,
  signUp,
  startServices,
  TestProcess,
  useSmtpSink,
} from '#testing';
import { uniqueEmail } from './suites/email-client.js';

const START_MS = 90_000;
const SENT_MS = 40_000;
const PEOPLE = 50;

/** A broker of its own: the one of the other tests may not be crashed. */
describe('mails that wait in RabbitMQ', () => {
  const sink = useSmtpSink();
  let rabbit: TestProcess;
  let server: GatepostServer;

  beforeAll(async () => {
    rabbit = TestProcess.start('tools/test/private-server.mjs', ['rabbitmq'], {});
    const [url] = await rabbit.untilPrinted(/amqp:\S+/, START_MS);
    server = await startServices({ gateway: 1, accounts: 1, mail: 0 }, { ...sink().env(), AMQP_URL: url });
  }, 2 * START_MS);
  afterAll(async () => {
    await server.stop();
    await rabbit.stop();
  }, START_MS);

  const signUpUnverified = async (api: ApiClient): Promise<string> => {
    const email = uniqueEmail();
    const { body } = await signUp(api, { email });
    expect(body['emailVerified']).toBe(false);
    return email;
  };
  /** All committed events have left accounts. */
  const expectAllWithBroker = () =>
    eventually(async () => {
      const client = new pg.Client({ connectionString: server.env['DATABASE_URL'] });
      await client.connect();
      const { rows } = await client.query('SELECT id FROM accounts.outbox');
      await client.end();
      expect(rows).toEqual([]);
    });

  it(
    'are there after it has crashed, and leave once',
    async () => {
      await setSetting(server, server.app, 'verifyEmailOnSignUp', 'true');
      const api = appClient(server);
      const all = [await eventually(() => signUpUnverified(api))];
      while (all.length < PEOPLE) all.push(await signUpUnverified(api));
      await expectAllWithBroker();

      process.kill(rabbit.pid, 'SIGHUP');
      await rabbit.untilPrinted(/(?:amqp:\S+\s+){2}/, START_MS);
      all.push(await eventually(() => signUpUnverified(api.acceptingUnavailable()), SENT_MS));

      const mail = TestProcess.start('dist/apps/mail/src/main.js', [], { ...server.env, GATEPOST_PORT: '0' });
      await eventually(() => {
        const reached = sink().kept.flatMap(({ to }) => to);
        expect(all.filter((email) => !reached.includes(email))).toEqual([]);
      }, SENT_MS);
      expect(
        sink()
          .kept.flatMap(({ to }) => to)
          .filter((email) => all.includes(email)),
      ).toHaveLength(all.length);
      await mail.stop();
    },
    3 * START_MS,
  );
});
