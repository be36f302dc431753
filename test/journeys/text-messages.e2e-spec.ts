import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '#database';
import {
  appClient,
  codeSentBy,
  eventually,
  type GatepostServer,
  isProvided,
  sentMessages,
  SERVERS,
  startServices,
  startStandalone,
  TestProcess,
  uniquePhone,
  useServer,
} from '#testing';
import { mailDatabase } from '../../apps/mail/src/mail.database.js';

/** A delivery that failed comes again after five seconds. */
const RETRIED_MS = 20_000;

describe.runIf(isProvided(...SERVERS))('text messages of services', () => {
  let running: GatepostServer;
  let mail: TestProcess | undefined;
  const startMail = async (env: Record<string, string> = {}) => {
    mail = TestProcess.start('dist/apps/mail/src/main.js', [], { ...running.env, GATEPOST_PORT: '0', ...env });
    await mail.untilLogged(/mail listens on port/);
    return mail;
  };
  const requestCode = async () => {
    const mobilePhoneNumber = uniquePhone();
    const { status } = await appClient(running).post('/1.1/requestSmsCode', { mobilePhoneNumber });
    expect(status).toBe(200);
    return mobilePhoneNumber;
  };
  const lastErrorFor = async (number: string) => {
    const database = new Database(mailDatabase(running.env['DATABASE_URL'] ?? '', 1));
    const sql = 'SELECT last_error FROM mail.deliveries WHERE recipient = $1';
    try {
      const [row] = await database.query<{ last_error: string | null }>(sql, [number]);
      return row?.last_error ?? '';
    } finally {
      await database.close();
    }
  };
  const messageTo = (number: string, timeoutMs?: number) =>
    eventually(() => {
      const [message] = sentMessages(running, number);
      if (message === undefined) throw new Error(`no message to ${number} yet`);
      return message;
    }, timeoutMs);

  beforeAll(async () => {
    running = await startServices({ gateway: 1, accounts: 1, mail: 0 });
  });
  afterEach(async () => {
    await mail?.stop();
  });
  afterAll(() => running.stop());

  it('wait for mail where it has never run', async () => {
    const number = await requestCode();
    await startMail();
    expect((await messageTo(number)).code).toMatch(/^\d{6}$/);
  });

  it('wait for mail that was killed', async () => {
    const killed = await startMail();
    await messageTo(await requestCode());
    await killed.stop('SIGKILL');
    const numbers = [await requestCode(), await requestCode()];
    await startMail();
    for (const number of numbers) expect((await messageTo(number)).to).toBe(number);
  });

  it('wait for a folder that cannot be written, and are written once', async () => {
    const outbox = join(running.env['GATEPOST_DATA_DIR'] ?? '', 'outbox');
    rmSync(outbox, { recursive: true, force: true });
    writeFileSync(outbox, 'in the way');
    await startMail();
    const number = await requestCode();
    await eventually(async () => {
      expect(await lastErrorFor(number)).toMatch(/^E/);
    });
    rmSync(outbox);
    await messageTo(number, RETRIED_MS);
    expect(sentMessages(running, number)).toHaveLength(1);
  });

  it('show number and code to a developer, and to no log', async () => {
    const shown = await startMail();
    const number = await requestCode();
    const { code, id } = await messageTo(number);
    const line = `Text message to ${number}, code ${code}: `;
    await eventually(() => {
      expect(shown.stdout).toContain(line);
    });
    expect(shown.stdout).toContain(join('outbox', 'sms', `${id}.json`));
    for (const log of [shown.stderr, running.main.stderr]) {
      expect(log).not.toContain(number.slice(1));
      expect(log).not.toContain(code);
    }
  });

  it('in production are not printed', async () => {
    const silent = await startMail({ NODE_ENV: 'production', GATEPOST_BASE_URL: 'https://accounts.example.com' });
    await messageTo(await requestCode());
    expect(silent.stdout).toBe('');
  });
});

describe('text messages of the standalone server', () => {
  const server = useServer(() => startStandalone());

  it('are shown on its console, and in no log', async () => {
    const number = uniquePhone();
    const code = await codeSentBy(server(), number, () =>
      appClient(server()).post('/1.1/requestSmsCode', { mobilePhoneNumber: number }),
    );
    const { main } = server();
    await main.untilPrinted(new RegExp(`Text message to \\${number}, code ${code}: `));
    expect(main.stderr).not.toContain(number.slice(1));
    expect(main.stderr).not.toContain(code);
  });
});
