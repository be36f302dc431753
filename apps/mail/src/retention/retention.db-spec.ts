import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '#database';
import { newDatabase } from '#testing';
import { MailDatabase, mailDatabase } from '../mail.database.js';
import { RetentionRepository } from './retention.repository.js';

describe('what the mail service remembers', () => {
  let database: MailDatabase;
  let retention: RetentionRepository;

  const insert = async (status: string, { settled, expires }: { settled: string | null; expires: string }) => {
    const id = randomUUID();
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, sealed_content, status, created_at, expires_at,
                                    give_up_at, settled_at)
       VALUES ($1, 'app', 'mail', 'verifyEmail', 'a@example.com', 'sealed', $2, now() - interval '60 days',
               now() + $3::interval, now(), now() + $4::interval)`,
      [id, status, expires, settled],
    );
    return id;
  };
  const left = () =>
    database.query<{ id: string; content: string | null }>('SELECT id, sealed_content AS content FROM mail.deliveries');
  const forget = async () => {
    while (await retention.takeBite());
  };

  beforeAll(async () => {
    const options = mailDatabase(await newDatabase(), 2);
    await migrate(options);
    database = new MailDatabase(options);
    retention = new RetentionRepository(database);
  });
  afterAll(() => database.close());
  beforeEach(() => database.query('TRUNCATE mail.deliveries, mail.recipients, mail.allowances'));

  it.each(['sent', 'dead', 'dropped'])('of %s deliveries ends after 30 days', async (status) => {
    await insert(status, { settled: '-31 days', expires: '-30 days' });
    const kept = await insert(status, { settled: '-29 days', expires: '1 day' });
    await forget();
    expect((await left()).map(({ id }) => id)).toEqual([kept]);
  });

  it('of what waits never ends, however old it is', async () => {
    await insert('queued', { settled: null, expires: '1 day' });
    await insert('failed', { settled: null, expires: '1 day' });
    await forget();
    expect(await left()).toHaveLength(2);
  });

  it('holds no content of what is dead and has expired', async () => {
    const useless = await insert('dead', { settled: '-1 day', expires: '-1 hour' });
    const useful = await insert('dead', { settled: '-1 day', expires: '1 hour' });
    await forget();
    expect(new Map((await left()).map(({ id, content }) => [id, content]))).toEqual(
      new Map([
        [useless, null],
        [useful, 'sealed'],
      ]),
    );
  });

  it('goes in bites until all is gone', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, expires_at, give_up_at, settled_at)
       SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', 'a@example.com', 'sent', now(), now(), now() - interval '31 days'
         FROM generate_series(1, 1200)`,
    );
    expect(await retention.takeBite()).toBe(true);
    expect((await left()).length).toBe(700);
    await forget();
    expect(await left()).toEqual([]);
  });

  it('of users ends after 8 days, of allowances after their windows', async () => {
    await database.query(
      `INSERT INTO mail.recipients (app_id, user_id, changed_at, noted_at)
       VALUES ('app', 'old', now(), now() - interval '9 days'), ('app', 'new', now(), now() - interval '7 days')`,
    );
    await database.query(
      `INSERT INTO mail.allowances (app_id, window_start, used) VALUES ('app', now() - interval '3 days', 1), ('app', now(), 1)`,
    );
    await forget();
    const users = await database.query<{ user_id: string }>('SELECT user_id FROM mail.recipients');
    expect(users).toEqual([{ user_id: 'new' }]);
    expect(await database.query('SELECT used FROM mail.allowances')).toHaveLength(1);
  });
});
