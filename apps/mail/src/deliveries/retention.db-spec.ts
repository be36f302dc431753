import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PeriodicJob } from '#bootstrap';
import { migrate } from '#database';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { eventually, newDatabase, queryPlan } from '#testing';
import { MailDatabase } from '../mail.config.js';
import { mailDatabase } from '../mail.database.js';
import { RetentionJob } from './delivery-log.repository.js';

const WAITS = { settled: null, expires: '-1 hour' };

describe('the retention of the mail service', () => {
  let databaseUrl: string;
  let database: MailDatabase;
  const metrics = new Metrics();
  let retention: RetentionJob;

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
    while (await retention.processBatch());
  };

  beforeAll(async () => {
    databaseUrl = await newDatabase();
    const options = mailDatabase(databaseUrl, 2);
    await migrate(options);
    database = new MailDatabase(options);
    retention = new RetentionJob(database, metrics);
  });
  afterAll(() => database.close());
  beforeEach(() => database.query('TRUNCATE mail.deliveries, mail.recipients, mail.allowances'));

  it.each(['sent', 'dead', 'dropped'])('of %s deliveries ends after 30 days', async (status) => {
    await insert(status, { settled: '-31 days', expires: '-30 days' });
    const kept = await insert(status, { settled: '-29 days', expires: '1 day' });
    await forget();
    expect((await left()).map(({ id }) => id)).toEqual([kept]);
  });

  it('never ends for waiting deliveries', async () => {
    await insert('queued', { settled: null, expires: '1 day' });
    await insert('failed', { settled: null, expires: '1 day' });
    await forget();
    expect(await left()).toHaveLength(2);
  });

  it('drops what has expired while it waited, also for the window of its application, but nothing that is being sent', async () => {
    const expired = [await insert('queued', WAITS), await insert('failed', WAITS)];
    const [valid, sending] = [await insert('queued', { ...WAITS, expires: '1 hour' }), await insert('queued', WAITS)];
    await database.query(
      `UPDATE mail.deliveries SET lease = gen_random_uuid(), next_attempt_at = now() + interval '1 minute' WHERE id = $1`,
      [sending],
    );
    await forget();
    const dropped = await database.query<{ id: string }>(
      `SELECT id FROM mail.deliveries WHERE status = 'dropped' AND last_error = 'it expired before it could be sent'
          AND settled_at > now() - interval '1 minute'`,
    );
    expect(dropped.map(({ id }) => id).toSorted()).toEqual(expired.toSorted());
    const counted = [{ labels: { channel: 'mail', outcome: 'dropped' }, value: 2 }];
    expect((await metrics.deliveries.get()).values.filter(({ value }) => value > 0)).toMatchObject(counted);
    expect(
      (await left())
        .filter(({ content }) => content !== null)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([valid, sending].toSorted());
  });

  it('deletes the content of expired dead deliveries', async () => {
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

  it('reads no dead deliveries without content to find those that have one', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, expires_at, give_up_at, settled_at)
       SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', 'a@example.com', 'dead', now(), now(), now()
         FROM generate_series(1, 30000)`,
    );
    await database.query('ANALYZE mail.deliveries');
    const query = vi.spyOn(database, 'query');
    await retention.processBatch();
    const sql = query.mock.calls.map(([text]) => text).find((text) => text.includes('SET sealed_content = NULL'));
    query.mockRestore();
    const { indexes } = await queryPlan(database, (within) => within.query(sql ?? ''));
    expect(indexes).toContain('deliveries_dead_content_idx');
  });

  it('deletes in batches until nothing is left', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, expires_at, give_up_at, settled_at)
       SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', 'a@example.com', 'sent', now(), now(), now() - interval '31 days'
         FROM generate_series(1, 1200)`,
    );
    expect(await retention.processBatch()).toBe(true);
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

  it('deletes the other rows where one statement fails', async () => {
    await database.query(
      `INSERT INTO mail.recipients (app_id, user_id, changed_at, noted_at) VALUES ('app', 'old', now(), now() - interval '9 days')`,
    );
    const query = vi.spyOn(database, 'query').mockRejectedValueOnce(appError('SERVICE_UNAVAILABLE'));
    await expect(retention.processBatch()).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    query.mockRestore();
    expect(await database.query('SELECT user_id FROM mail.recipients')).toEqual([]);
  });

  it('logs a warning and keeps the last success time while the DELETE privilege is missing', async () => {
    // The test run drops the role together with the database of the same name.
    const role = new URL(databaseUrl).pathname.slice(1);
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'restricted'`);
    await database.query(`GRANT USAGE ON SCHEMA mail TO ${role}`);
    await database.query(`GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA mail TO ${role}`);
    const url = Object.assign(new URL(databaseUrl), { username: role, password: 'restricted' }).href;
    const restricted = new MailDatabase(mailDatabase(url, 2));
    const warn = vi.spyOn(Logger.prototype, 'warn');
    const metrics = new Metrics();
    const lastSuccess = async () => {
      const { values } = await metrics.jobLastSuccess.get();
      return values.map(({ value }) => value);
    };
    const restrictedJob = new RetentionJob(restricted, metrics);
    class FrequentJob extends PeriodicJob {
      processBatch = () => restrictedJob.processBatch();
    }
    const job = new FrequentJob({ name: 'mail-cleanup', intervalMs: 50, metrics });
    await insert('sent', { settled: '-31 days', expires: '-30 days' });
    try {
      job.onApplicationBootstrap();
      await eventually(() => {
        expect(warn).toHaveBeenCalledExactlyOnceWith(
          expect.stringMatching(/^mail-cleanup failed: SQLSTATE 42501 in:\s+DELETE FROM mail\.deliveries/),
        );
      });
      expect([await lastSuccess(), (await left()).length]).toEqual([[0], 1]);
      const before = Date.now() / 1_000;
      await database.query(`GRANT DELETE ON ALL TABLES IN SCHEMA mail TO ${role}`);
      await eventually(async () => {
        expect(await left()).toEqual([]);
        expect((await lastSuccess())[0]).toBeGreaterThanOrEqual(before);
      });
    } finally {
      await job.beforeApplicationShutdown();
      await restricted.close();
      warn.mockRestore();
    }
  });

  it('does not make replicas wait for each other', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, expires_at, give_up_at, settled_at)
       SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', 'a@example.com', 'sent', now(), now(), now() - interval '31 days'
         FROM generate_series(1, 700)`,
    );
    await database.transaction(async (tx) => {
      await tx.query(`SELECT id FROM mail.deliveries ORDER BY settled_at LIMIT 500 FOR UPDATE`);
      await retention.processBatch();
      expect(await left()).toHaveLength(500);
    });
    await forget();
    expect(await left()).toEqual([]);
  });
});
