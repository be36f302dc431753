import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { eventually } from '#testing';
import { mailModule, newClaim } from '../../test/mail-module.js';
import { MailDatabase, type MailLimit } from '../mail.config.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliverySender } from './delivery-sender.js';
import { ChannelUnavailable, DeliveryChannel, DeliveryRefused, settlementOf } from './delivery.channel.js';
import type { Delivery, NewDelivery } from './delivery.rules.js';

const HOUR_MS = 3_600_000;
const LONG_MS = 30_000;

/** A channel whose server behaves as the test defines. */
class ScriptedChannel extends DeliveryChannel {
  readonly channel = 'mail';
  override readonly parallel = 5;
  paused: readonly string[] = [];
  probed: readonly string[] = [];
  readonly sent: Delivery[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  onSend: (delivery: Delivery) => Promise<void> = () => Promise.resolve();

  override pausedApplications(): readonly string[] {
    return this.paused;
  }

  override probedApplications(): readonly string[] {
    return this.probed;
  }

  async send(delivery: Delivery): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.atOnce, this.mostAtOnce);
    try {
      await this.onSend(delivery);
      this.sent.push(delivery);
    } finally {
      this.atOnce -= 1;
    }
  }
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly sealed_content: string | null;
  readonly waits: number;
  readonly is_settled: boolean;
}

describe('the sender', () => {
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  let module: TestingModule;
  let database: MailDatabase;
  let repository: DeliveriesRepository;
  let senders: DeliverySender[];

  const rows = () =>
    database.query<Row>(
      `SELECT id, status, attempts, last_error, sealed_content, settled_at IS NOT NULL AS is_settled,
              extract(epoch FROM next_attempt_at - now())::float AS waits
         FROM mail.deliveries ORDER BY created_at`,
    );
  const onlyRow = async () => (await rows())[0]!;
  const waitFor = (expected: Record<string, number>) =>
    eventually(async () => {
      const counts: Record<string, number> = {};
      for (const { status } of await rows()) counts[status] = (counts[status] ?? 0) + 1;
      expect(counts).toEqual(expected);
    });
  const used = async () => {
    const allowances = await database.query<{ app_id: string; used: string }>(
      'SELECT app_id, used FROM mail.allowances',
    );
    return Object.fromEntries(allowances.map(({ app_id: appId, used: count }) => [appId, Number(count)]));
  };
  const newSender = (channel: DeliveryChannel, mailLimit?: MailLimit) => {
    const sender = new DeliverySender(database, repository, sealer, new Metrics(), { mailLimit });
    sender.register(channel);
    senders.push(sender);
    return sender;
  };
  const add = async (changes: Partial<NewDelivery> = {}, sender = senders[0]!) => {
    const delivery: NewDelivery = {
      id: randomUUID(),
      appId: 'app',
      channel: 'mail',
      kind: 'verifyEmail',
      recipient: 'ada@example.com',
      userId: 'ada',
      asOf: new Date(),
      content: { token: 'a-very-secret-token' },
      expiresAt: new Date(Date.now() + HOUR_MS),
      ...changes,
    };
    const log = module.get(DeliveryLogRepository);
    const deliveries = new DeliveriesService(repository, log, sender, sealer, new Metrics());
    await database.transaction((tx) => deliveries.add(tx, delivery));
    return delivery.id;
  };

  beforeAll(async () => {
    Logger.overrideLogger(false);
    module = await mailModule(10, DeliveriesRepository, DeliveryLogRepository);
    database = module.get(MailDatabase);
    repository = module.get(DeliveriesRepository);
  });
  afterAll(() => module.close());
  beforeEach(async () => {
    senders = [];
    await database.query('TRUNCATE mail.deliveries, mail.allowances');
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(senders.map((sender) => sender.beforeApplicationShutdown()));
  });

  it('sends a queued delivery at once and unchanged, and deletes its content', async () => {
    const channel = new ScriptedChannel();
    newSender(channel).onApplicationBootstrap();
    const id = await add();
    await waitFor({ sent: 1 });
    expect(channel.sent).toEqual([
      expect.objectContaining({ id, appId: 'app', kind: 'verifyEmail', recipient: 'ada@example.com', attempts: 0 }),
    ]);
    expect(channel.sent[0]?.content).toEqual({ token: 'a-very-secret-token' });
    expect(await onlyRow()).toMatchObject({ attempts: 1, last_error: null, sealed_content: null, is_settled: true });
  });

  it('keeps the content sealed with the id of the delivery', async () => {
    newSender(new ScriptedChannel());
    const id = await add();
    const { sealed_content: sealed } = await onlyRow();
    expect(sealed).not.toContain('secret');
    expect(sealer.open(sealed!, `delivery ${id}`)).toBe('{"token":"a-very-secret-token"}');
  });

  it('serves applications in turn: thousands of deliveries of one do not delay the others', async () => {
    const channel = new ScriptedChannel();
    const sender = newSender(channel);
    for (let index = 0; index < 100; index += 1) await add({ appId: 'loud' });
    const others = [await add({ appId: 'quiet' }), await add({ appId: 'another' })];
    sender.onApplicationBootstrap();
    await waitFor({ sent: 102 });
    const first = channel.sent.slice(0, channel.parallel).map(({ id }) => id);
    expect(first).toEqual(expect.arrayContaining(others));
  });

  it('two senders send each delivery once, with the full concurrency of the channel', async () => {
    const channels = [new ScriptedChannel(), new ScriptedChannel()];
    const all = channels.map((channel) => newSender(channel));
    for (let index = 0; index < 200; index += 1) await add();
    for (const sender of all) sender.onApplicationBootstrap();
    await waitFor({ sent: 200 });
    const ids = channels.flatMap(({ sent }) => sent.map(({ id }) => id));
    expect([ids.length, new Set(ids).size]).toEqual([200, 200]);
    expect(channels.every(({ sent, mostAtOnce }) => sent.length > 0 && mostAtOnce <= 5)).toBe(true);
  });

  it('retries after a failure, with growing delays', async () => {
    const channel = new ScriptedChannel();
    channel.onSend = () => Promise.reject(new Error('451 try later, https://x/?token=abc'));
    const sender = newSender(channel);
    await add();
    sender.onApplicationBootstrap();
    const waits: number[] = [];
    for (let attempts = 1; attempts <= 6; attempts += 1) {
      await eventually(async () => {
        expect(await onlyRow()).toMatchObject({
          status: 'failed',
          attempts,
          last_error: '451 try later, https://x/?token=…',
        });
      });
      // Part of the delay has passed already.
      waits.push(Math.ceil((await onlyRow()).waits / 5) * 5);
      await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() - interval '1 second'`);
      sender.wake('mail');
    }
    expect(waits).toEqual([5, 30, 120, 300, 900, 900]);
  });

  it('gives up if the next attempt would be too late, and keeps the content for a manual retry', async () => {
    const channel = new ScriptedChannel();
    channel.onSend = () => Promise.reject(new Error('451 try later'));
    const sender = newSender(channel);
    await add({ expiresAt: new Date(Date.now() + 4_000) });
    sender.onApplicationBootstrap();
    await waitFor({ dead: 1 });
    expect(await onlyRow()).toMatchObject({
      attempts: 1,
      is_settled: true,
      sealed_content: expect.any(String) as string,
    });
  });

  it('never retries a delivery that was rejected permanently', async () => {
    const channel = new ScriptedChannel();
    channel.onSend = () => Promise.reject(new DeliveryRefused('550 no such user'));
    newSender(channel).onApplicationBootstrap();
    await add();
    await waitFor({ dead: 1 });
    expect(await onlyRow()).toMatchObject({ attempts: 1, last_error: '550 no such user', is_settled: true });
  });

  it(
    'pauses while the server is unavailable: no attempt counts, one probe at a time, and all are sent afterwards',
    async () => {
      const channel = new ScriptedChannel();
      let probes = 0;
      channel.onSend = () => {
        probes += 1;
        return Promise.reject(new ChannelUnavailable('connect ECONNREFUSED'));
      };
      const sender = newSender(channel);
      for (let index = 0; index < 20; index += 1) await add();
      sender.onApplicationBootstrap();
      await eventually(() => {
        expect(probes).toBeGreaterThan(5);
      });
      expect(probes).toBeLessThan(8);
      expect((await rows()).every(({ status, attempts }) => status === 'queued' && attempts === 0)).toBe(true);
      channel.onSend = () => Promise.resolve();
      await waitFor({ sent: 20 });
    },
    LONG_MS,
  );

  it('leaves the deliveries of paused applications as they are, and sends them afterwards', async () => {
    const channel = new ScriptedChannel();
    channel.paused = ['paused'];
    newSender(channel).onApplicationBootstrap();
    for (const appId of ['app', 'paused', 'quiet']) await add({ appId });
    await waitFor({ queued: 1, sent: 2 });
    expect((await rows()).find(({ status }) => status === 'queued')).toMatchObject({ attempts: 0, last_error: null });
    expect(channel.sent.map(({ appId }) => appId).sort()).toEqual(['app', 'quiet']);
    channel.paused = [];
    await waitFor({ sent: 3 });
  });

  it('claims one delivery of a probed application, which leaves the slots to the others', async () => {
    const sender = newSender(new ScriptedChannel());
    const first = await add({ appId: 'hangs' });
    for (const appId of ['hangs', 'hangs', 'app', 'app']) await add({ appId });
    const { items } = await sender.take('mail', 5, { paused: [], probed: ['hangs'], held: [] });
    expect(items.map(({ appId }) => appId).sort()).toEqual(['app', 'app', 'hangs']);
    expect(items.map(({ id }) => id)).toContain(first);
  });

  it('drops an expired delivery instead of sending it', async () => {
    const channel = new ScriptedChannel();
    newSender(channel).onApplicationBootstrap();
    await add({ expiresAt: new Date(Date.now() - 1) });
    await waitFor({ dropped: 1 });
    expect(await onlyRow()).toMatchObject({
      attempts: 0,
      sealed_content: null,
      last_error: 'it expired before it could be sent',
    });
    expect(channel.sent).toEqual([]);
  });

  it('takes over a delivery without a stored result after its lease has ended', async () => {
    const channel = new ScriptedChannel();
    const sender = newSender(channel);
    await add();
    const claim = newClaim();
    const [taken] = await database.transaction((tx) => repository.claim(tx, claim));
    sender.onApplicationBootstrap();
    expect(await database.transaction((tx) => repository.claim(tx, claim))).toEqual([]);
    await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() - interval '1 second'`);
    sender.wake('mail');
    await waitFor({ sent: 1 });
    const late = { id: taken!.id, lease: taken!.lease, outcome: 'dead', error: 'late', delaySeconds: 0 } as const;
    expect(await repository.settle([late])).toEqual([]);
    expect(await onlyRow()).toMatchObject({ status: 'sent', last_error: null });
  });

  it('sends none again whose lease has ended before the process could store its result', async () => {
    const channel = new ScriptedChannel();
    const settle = vi.spyOn(repository, 'settle').mockRejectedValue(new Error('PostgreSQL is away'));
    const sender = newSender(channel);
    sender.onApplicationBootstrap();
    const first = await add();
    await vi.waitUntil(() => settle.mock.calls.length > 0);
    await database.query(`UPDATE mail.deliveries SET next_attempt_at = now() - interval '1 second'`);
    // Only this one is claimed.
    const second = await add();
    await vi.waitUntil(() => channel.sent.length > 1);
    settle.mockRestore();
    await waitFor({ sent: 2 });
    expect(channel.sent.map(({ id }) => id)).toEqual([first, second]);
  });

  it('puts back what exceeds the limit: it goes out first, and at once where the limit is raised', async () => {
    const seconds = 86_400;
    const channel = new ScriptedChannel();
    const strict = newSender(channel, { count: 1, seconds });
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) ids.push(await add());
    expect((await strict.take('mail', 2)).items).toHaveLength(1);
    expect(await strict.take('mail', 2)).toEqual({ items: [], isMoreDue: false });
    const { items } = await newSender(channel, { count: 2, seconds }).take('mail', 3);
    expect(items.map(({ id }) => id)).toEqual([ids[1]]);
    newSender(channel).onApplicationBootstrap();
    await eventually(() => {
      expect(channel.sent.map(({ id }) => id)).toEqual(ids.slice(2));
    });
  });

  it('sends at once what finds room, as an unavailable server has given back what was counted', async () => {
    const sender = newSender(new ScriptedChannel(), { count: 1, seconds: 86_400 });
    await add();
    await add();
    const [released] = (await sender.take('mail', 2)).items;
    expect((await sender.take('mail', 2)).items).toEqual([]);
    await repository.settle([settlementOf(released!, new ChannelUnavailable('away'))]);
    expect((await sender.take('mail', 2)).items).toHaveLength(1);
  });

  it(
    'limits the mails of each application per window, and sends the rest in the next windows',
    async () => {
      const channel = new ScriptedChannel();
      const sender = newSender(channel, { count: 10, seconds: 2 });
      for (let index = 0; index < 25; index += 1) await add();
      await add({ appId: 'other' });
      const begin = Date.now();
      sender.onApplicationBootstrap();
      await waitFor({ sent: 26 });
      // At least three windows of this application have begun.
      expect(Date.now() - begin).toBeGreaterThan(2_000);
      const used = await database.query<{ used: string }>('SELECT used FROM mail.allowances WHERE app_id = $1', [
        'app',
      ]);
      expect(used.length).toBeGreaterThanOrEqual(3);
    },
    LONG_MS,
  );

  it(
    'counts no mail against the limit while the server is unavailable',
    async () => {
      const channel = new ScriptedChannel();
      let probes = 0;
      channel.onSend = () => {
        probes += 1;
        return probes > 2 ? Promise.resolve() : Promise.reject(new ChannelUnavailable('connect ECONNREFUSED'));
      };
      newSender(channel, { count: 1, seconds: 3_600 }).onApplicationBootstrap();
      await add();
      await waitFor({ sent: 1 });
      expect([probes, await used()]).toEqual([3, { app: 1 }]);
    },
    LONG_MS,
  );

  it('gives back what a released delivery has counted once, to its application and window, never below zero', async () => {
    const sender = newSender(new ScriptedChannel(), { count: 3, seconds: 3_600 });
    for (const appId of ['app', 'app', 'app', 'app', 'app', 'other']) await add({ appId });
    const { items } = await sender.take('mail', 10);
    expect([items.length, await used()]).toEqual([4, { app: 3, other: 1 }]);
    const settlements = items.map((row, index) => ({
      ...settlementOf(row, index === 0 ? new Error('450') : new ChannelUnavailable('away')),
    }));
    expect((await repository.settle(settlements)).sort()).toEqual(['failed', 'released', 'released', 'released']);
    expect(await repository.settle(settlements)).toEqual([]);
    expect(await used()).toEqual({ app: 1, other: 0 });

    const [first, second] = (await sender.take('mail', 2)).items;
    await database.query('UPDATE mail.allowances SET used = 0');
    const earlier = { ...settlementOf(first!, new ChannelUnavailable('away')), countedIn: new Date(0) };
    await repository.settle([earlier, settlementOf(second!, new ChannelUnavailable('away'))]);
    expect(await used()).toEqual({ app: 0, other: 0 });
  });

  it('finishes claimed deliveries at shutdown, and claims no more', async () => {
    const channel = new ScriptedChannel();
    let letGo: (() => void) | undefined;
    channel.onSend = () => new Promise((resolve) => (letGo = resolve));
    const sender = newSender(channel);
    sender.onApplicationBootstrap();
    await add();
    await eventually(() => {
      expect(letGo).toBeDefined();
    });
    const stopped = sender.beforeApplicationShutdown();
    await add();
    letGo?.();
    await stopped;
    await waitFor({ sent: 1, queued: 1 });
  });
});
