import { randomUUID } from 'node:crypto';
import type { TestingModule } from '@nestjs/testing';
import { getRepositoryToken } from '@nestjs/typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { queryPlan } from '#testing';
import { mailModule, newClaim } from '../../test/mail-module.js';
import { MailDatabase } from '../mail.config.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { DeliveriesController, DeliveriesService } from './deliveries.service.js';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliverySender } from './delivery-sender.js';
import { DeliveryEntity } from './delivery.entity.js';
import type { NewDelivery } from './delivery.rules.js';

const HOUR_MS = 3_600_000;
const TOKEN = 'a-very-secret-token';

describe('deliveries for operators', () => {
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  let module: TestingModule;
  let database: MailDatabase;
  let repository: DeliveriesRepository;
  let log: DeliveryLogRepository;
  let sender: DeliverySender;
  let deliveries: DeliveriesService;
  let controller: DeliveriesController;

  const add = async ({ appId = 'app', recipient = 'ada@example.com', lifeMs = HOUR_MS } = {}) => {
    const id = randomUUID();
    const expiresAt = new Date(Date.now() + lifeMs);
    const base = { id, appId, recipient, channel: 'mail', kind: 'verifyEmail', userId: 'ada' } as const;
    await database.transaction((tx) =>
      deliveries.add(tx, { ...base, asOf: new Date(Date.now() - HOUR_MS), content: { token: TOKEN }, expiresAt }),
    );
    return id;
  };
  const kill = (...ids: string[]) =>
    database.query(
      `UPDATE mail.deliveries SET status = 'dead', attempts = 9, last_error = '550 no', settled_at = now(),
              give_up_at = now() - interval '1 hour' WHERE id = ANY($1)`,
      [ids],
    );

  beforeAll(async () => {
    module = await mailModule(5, DeliveriesRepository, DeliveryLogRepository);
    database = module.get(MailDatabase);
    repository = module.get(DeliveriesRepository);
    log = module.get(DeliveryLogRepository);
    sender = new DeliverySender(database, repository, sealer, new Metrics(), { mailLimit: undefined });
    deliveries = new DeliveriesService(repository, log, sender, sealer, new Metrics());
    controller = new DeliveriesController(log, sender);
  });
  afterAll(() => module.close());
  beforeEach(() => database.query('TRUNCATE mail.deliveries, mail.allowances'));

  it('lists the newest first, filtered by application, status and recipient', async () => {
    const first = await add();
    const second = await add({ recipient: 'bob@example.com' });
    const third = await add({ appId: 'other' });
    // Deliveries of the same millisecond are ordered by id.
    await database.query(
      `UPDATE mail.deliveries SET created_at = now() - interval '1 second' * (3 - array_position($1::uuid[], id))`,
      [[first, second, third]],
    );
    await kill(first);
    const ids = async (wanted: object) =>
      (await controller.list({ limit: 10, ...wanted })).deliveries.map(({ id }) => id);
    expect(await ids({})).toEqual([third, second, first]);
    expect(await ids({ limit: 2 })).toEqual([third, second]);
    expect(await ids({ appId: 'app' })).toEqual([second, first]);
    expect(await ids({ status: 'dead' })).toEqual([first]);
    expect(await ids({ recipient: 'bob@example.com', status: 'queued' })).toEqual([second]);
  });

  it('lists page by page, filtered by kind, user and time, with the number by status', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.unshift(await add());
    // Deliveries of the same millisecond are ordered by id.
    await database.query('UPDATE mail.deliveries SET created_at = $1', ['2026-01-02T00:00:00Z']);
    await add({ appId: 'other' });
    await kill(ids[0]!, ids[3]!);
    const seen: string[] = [];
    let after: { createdAt: string; id: string } | null = null;
    do {
      const page = await controller.list({ appId: 'app', limit: 3, ...(after === null ? {} : { after }) });
      seen.push(...page.deliveries.map(({ id }) => id));
      after = page.next ?? null;
    } while (after !== null);
    expect(seen).toEqual(ids.toSorted().reverse());
    const found = async (wanted: object) =>
      (await controller.list({ appId: 'app', limit: 10, ...wanted })).deliveries.length;
    expect(await found({ kind: 'verifyEmail', userId: 'ada', channel: 'mail' })).toBe(7);
    expect([await found({ kind: 'test' }), await found({ userId: 'bo' }), await found({ channel: 'sms' })]).toEqual([
      0, 0, 0,
    ]);
    expect(await found({ from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:01Z' })).toBe(7);
    expect(await found({ to: '2026-01-02T00:00:00Z' })).toBe(0);
    const { counts, deliveries: dead } = await controller.list({
      appId: 'app',
      status: 'dead',
      counts: true,
      limit: 1,
    });
    expect(counts).toEqual({ byStatus: { queued: 5, dead: 2 }, isExact: true });
    expect(dead).toHaveLength(1);
  });

  it('gives as next attempt the end of the window for mails over the limit of their application, else now or later', async () => {
    const limited = new DeliveryLogRepository(module.get(getRepositoryToken(DeliveryEntity, 'mail')), database, {
      mailLimit: { count: 2, seconds: 86_400 },
    });
    const [over, other, later] = [await add(), await add({ appId: 'other' }), await add()];
    await database.query(
      `INSERT INTO mail.allowances (app_id, window_start, used)
       VALUES ('app', date_trunc('day', now(), 'UTC'), 2), ('other', date_trunc('day', now(), 'UTC'), 1)`,
    );
    await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() - interval '1 hour'`);
    await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() + interval '3 days' WHERE id = $1`, [
      later,
    ]);
    const nextOf = async (id: string, from = limited) => {
      const { delivery } = await new DeliveriesController(from, sender).get({ id });
      return Date.parse(delivery.nextAttemptAt ?? '') - Date.now();
    };
    expect(new Date(Date.now() + (await nextOf(over))).toISOString()).toMatch(/T(00:00:00\.000|23:59:59\.9\d\d)Z$/);
    expect(await nextOf(over)).toBeGreaterThan(0);
    for (const due of [await nextOf(other), await nextOf(over, log)]) expect(Math.abs(due)).toBeLessThan(5_000);
    expect(await nextOf(later)).toBeGreaterThan(2 * 24 * HOUR_MS);
  });

  it('counts what was sent and refused by the UTC day of its creation', async () => {
    const at = async (createdAt: string, status: string, appId = 'app') => {
      const id = await add({ appId });
      await database.query('UPDATE mail.deliveries SET created_at = $2, status = $3 WHERE id = $1', [
        id,
        createdAt,
        status,
      ]);
    };
    await at('2026-01-01T23:59:59.999Z', 'sent');
    await at('2026-01-02T00:00:00.000Z', 'sent');
    await at('2026-01-02T00:00:00.000Z', 'dead');
    await at('2026-01-02T12:00:00.000Z', 'sent');
    await at('2026-01-02T12:00:00.000Z', 'dropped');
    await at('2026-01-02T12:00:00.000Z', 'sent', 'other');
    await at('2026-01-04T12:00:00.000Z', 'failed');
    expect(await controller.countByDay({ appId: 'app', from: '2026-01-02' })).toEqual({
      days: [{ day: '2026-01-02', sent: 2, dead: 1 }],
    });
    expect((await log.countByDay('app', '2026-01-01')).map(({ day }) => day)).toEqual(['2026-01-01', '2026-01-02']);
  });

  it('counts 10,000 waiting ones at most, from the oldest', async () => {
    for (const from of [0, 20_000, 40_000])
      await database.query(
        `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, created_at, expires_at, give_up_at)
         SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', n::text, CASE WHEN n > 40000 THEN 'sent' ELSE 'queued' END,
                now() - n * interval '1 second', now(), now()
           FROM generate_series($1::int + 1, $1::int + 20000) AS n`,
        [from],
      );
    await database.query('ANALYZE mail.deliveries');
    const [row, ...others] = await log.waiting();
    expect([row, others]).toMatchObject([{ channel: 'mail', status: 'queued', count: 10_000 }, []]);
    expect(row?.seconds).toBeGreaterThanOrEqual(40_000);
    const { indexes } = await queryPlan(database, (within) => log.waiting(within));
    expect(new Set(indexes)).toEqual(new Set(['deliveries_oldest_waiting_idx']));
  });

  it('counts by the index of the application', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, created_at, expires_at, give_up_at)
       SELECT gen_random_uuid(), 'app' || n % 100, 'mail', 'verifyEmail', n::text, 'sent', now() - n * interval '1 minute', now(), now()
         FROM generate_series(1, 50000) AS n`,
    );
    await database.query('ANALYZE mail.deliveries');
    const from = new Date(Date.now() - HOUR_MS).toISOString().slice(0, 10);
    const { indexes, nodeTypes } = await queryPlan(database, (within) => log.countByDay('app1', from, within));
    expect(indexes).toEqual(['deliveries_application_idx']);
    expect(nodeTypes).not.toContain('Seq Scan');
  });

  it('looks at one row of an application that has used up its limit', async () => {
    await database.query(
      `INSERT INTO mail.deliveries (id, app_id, channel, kind, recipient, status, expires_at, give_up_at)
       SELECT gen_random_uuid(), 'app', 'mail', 'verifyEmail', n::text, 'queued', now(), now() FROM generate_series(1, 50000) AS n`,
    );
    await database.query('ANALYZE mail.deliveries');
    const mailLimit = { count: 5, seconds: 86_400 };
    await database.transaction((tx) => repository.takeAllowance(tx, 'app', 5, mailLimit));
    const claim = newClaim();
    const { pages } = await queryPlan(database, (within) => repository.claim(within as never, { ...claim, mailLimit }));
    expect(pages).toBeLessThan(50);
  });

  it('keeps time, outcome and answer of the last ten attempts', async () => {
    const id = await add();
    const attempt = async (outcome: 'failed' | 'released' | 'sent', error: string | null) => {
      await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() - interval '1 second'`);
      const { items } = await sender.take('mail', 1);
      await repository.settle([{ id, lease: items[0]!.lease, outcome, error, delaySeconds: 0 }]);
    };
    for (let index = 1; index <= 11; index += 1) await attempt('failed', `421 try again ${index}`);
    await attempt('released', 'the server is away');
    await attempt('sent', null);
    const { delivery } = await controller.get({ id });
    expect(delivery.attempts).toBe(12);
    expect(delivery.attemptLog.map(({ answer }) => answer)).toEqual([
      ...Array.from({ length: 9 }, (_, index) => `421 try again ${index + 3}`),
      null,
    ]);
    expect(delivery.attemptLog.at(-1)).toMatchObject({ outcome: 'sent' });
    expect(Math.abs(Date.parse(delivery.attemptLog[0]!.at) - Date.now())).toBeLessThan(60_000);
  });

  it('reports the number of waiting deliveries and the age of the oldest as metrics', async () => {
    const metrics = new Metrics();
    new DeliveriesService(repository, log, sender, sealer, metrics);
    await kill(await add());
    const oldest = await add();
    const again = await add();
    await database.query(`UPDATE mail.deliveries SET created_at = now() - interval '2 hours' WHERE id = $1`, [oldest]);
    await database.query(`UPDATE mail.deliveries SET status = 'failed' WHERE id = $1`, [again]);
    const exposed = await metrics.expose();
    expect(exposed).toContain('gatepost_deliveries_waiting{channel="mail",status="queued"} 1\n');
    expect(exposed).toContain('gatepost_deliveries_waiting{channel="mail",status="failed"} 1\n');
    expect(exposed).toContain('gatepost_deliveries_waiting{channel="sms",status="failed"} 0\n');
    expect(exposed).toMatch(/^gatepost_delivery_oldest_waiting_seconds\{channel="mail"\} 72\d\d/m);
    expect(exposed).toContain('gatepost_delivery_oldest_waiting_seconds{channel="sms"} 0\n');
  });

  it('never shows the content of a message', async () => {
    const { delivery: shown } = await controller.get({ id: await add() });
    expect(JSON.stringify(shown)).not.toContain(TOKEN);
    expect(Object.keys(shown).filter((name) => /content|sealed/i.test(name))).toEqual([]);
  });

  it('revives a dead delivery with all of its attempts', async () => {
    const id = await add();
    await kill(id);
    const { delivery } = await controller.retry({ id });
    expect(delivery).toMatchObject({ id, status: 'queued', attempts: 0, settledAt: null });
    const claim = newClaim();
    const [claimed] = await database.transaction((tx) => repository.claim(tx, claim));
    const failed = { id, lease: claim.lease, outcome: 'failed', error: '450', delaySeconds: 5 } as const;
    expect([claimed?.id, await repository.settle([failed])]).toEqual([id, ['failed']]);
  });

  it('rejects a retry of waiting, expired and unknown deliveries', async () => {
    const [waiting, expired] = [await add(), await add({ lifeMs: -1 })];
    await kill(expired);
    await expect(controller.retry({ id: waiting })).rejects.toThrow(
      `${waiting} is not sent again: it is queued, and only dead messages are.`,
    );
    await expect(controller.retry({ id: expired })).rejects.toThrow(/its link or code has expired/);
    await expect(controller.retry({ id: randomUUID() })).rejects.toThrow(/There is no mail or text message/);
  });

  it('neither shows nor revives a delivery of another application than the given one', async () => {
    const id = await add({ appId: 'b' });
    await kill(id);
    await expect(controller.get({ id, appId: 'app' })).rejects.toThrow(/There is no mail or text message/);
    await expect(controller.retry({ id, appId: 'app' })).rejects.toThrow(/There is no mail or text message/);
    expect((await controller.get({ id, appId: 'b' })).delivery.status).toBe('dead');
    expect((await controller.retry({ id, appId: 'b' })).delivery.status).toBe('queued');
  });

  it('revives all unexpired dead deliveries of an application', async () => {
    const [one, two, expired, others] = [
      await add(),
      await add(),
      await add({ lifeMs: -1 }),
      await add({ appId: 'b' }),
    ];
    await kill(one, two, expired, others);
    expect([
      (await controller.retryDead({ appId: 'app' })).retried,
      (await controller.retryDead({ appId: 'app' })).retried,
      (await controller.retryDead({})).retried,
    ]).toEqual([2, 0, 1]);
    expect((await controller.get({ id: expired })).delivery.status).toBe('dead');
  });

  it('does not revive a delivery to an outdated address', async () => {
    const id = await add();
    await kill(id);
    const change = { appId: 'app', userId: 'ada', recipient: 'new@example.com', asOf: new Date(), reason: 'changed' };
    await database.transaction((tx) => deliveries.dropOutdated(tx, change));
    await expect(controller.retry({ id })).rejects.toThrow(/it is dropped/);
  });

  describe('of a code', () => {
    const START = Date.now();
    const addCode = async (atMs: number, changes: Partial<NewDelivery> = {}) => {
      const id = randomUUID();
      const expiresAt = new Date(START + HOUR_MS);
      const use = { appId: 'app', channel: 'sms', kind: 'login', recipient: '+8613812345678', userId: null } as const;
      const code = { ...use, id, asOf: new Date(START + atMs), content: { code: TOKEN }, expiresAt, ...changes };
      await database.transaction((tx) => deliveries.addCode(tx, code));
      return id;
    };
    const statusOf = async (id: string) => (await controller.get({ id })).delivery.status;

    it('is dropped once a later one is added for the same use, also a dead one', async () => {
      const first = await addCode(0);
      const second = await addCode(10_000);
      expect((await controller.get({ id: first })).delivery).toMatchObject({
        status: 'dropped',
        lastError: 'a later code replaces it',
      });
      expect(await statusOf(second)).toBe('queued');
      await kill(second);
      const third = await addCode(20_000);
      expect([await statusOf(second), await statusOf(third)]).toEqual(['dropped', 'queued']);
    });

    it('is dropped at once if its event arrives after that of a later one', async () => {
      const [later, earlier] = [await addCode(10_000), await addCode(0)];
      expect([await statusOf(later), await statusOf(earlier)]).toEqual(['queued', 'dropped']);
    });

    it('is the only one left of many that are added at once', async () => {
      const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => addCode(index * 10_000)));
      const statuses = await Promise.all(ids.map(statusOf));
      expect(statuses).toEqual([...Array.from({ length: 9 }, () => 'dropped'), 'queued']);
    });

    it('stays beside codes for another application, purpose, number or user, and when the address of its user changes', async () => {
      const other = { appId: 'other' };
      const change = { kind: 'change', userId: 'ada' };
      const ids: string[] = [];
      for (const changes of [{}, other, { kind: 'verify' }, { recipient: '+8613812345679' }, change])
        ids.push(await addCode(ids.length * 10_000, changes));
      ids.push(await addCode(0, { ...change, userId: 'bob' }));
      const address = { appId: 'app', userId: 'ada', recipient: null, asOf: new Date(START + HOUR_MS), reason: 'gone' };
      await database.transaction((tx) => deliveries.dropOutdated(tx, address));
      expect(new Set(await Promise.all(ids.map(statusOf)))).toEqual(new Set(['queued']));
    });
  });

  it('reports a waiting delivery that was sealed with another secret', async () => {
    await deliveries.assertSecretFits();
    await add();
    await deliveries.assertSecretFits();
    const other = new Sealer('another secret of thirty-two characters');
    const foreign = new DeliveriesService(repository, log, sender, other, new Metrics());
    await expect(foreign.assertSecretFits()).rejects.toThrow(/another GATEPOST_SECRET/);
  });
});
