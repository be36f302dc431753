import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { queryPlan, unique } from '#testing';
import { openPushDatabase } from '../../test/push-database.js';
import type { PushDatabase } from '../push-delivery.database.js';
import { type Settlement, settlementOf, type TargetOutcome } from './settlement.rules.js';
import { recordWithShares, type VendorBatch, VendorBatchesRepository } from './vendor-batches.repository.js';
import type { Outcome } from './vendor-channel.rules.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

const EVERY_LANE = { named: new Map<string, number>(), others: 1 };
const BACKLOG = 20_000;
const VERSION = new Date('2026-01-01T00:00:00.123Z');
const good: Outcome = { kind: 'accepted' };
const doubtful: Outcome = { kind: 'invalid', reason: 'BadDeviceToken', isDoubtful: true };
const times = (count: number, outcome: Outcome) => Array.from({ length: count }, () => outcome);

describe('the settlement of a batch', () => {
  let database: PushDatabase;
  let batches: VendorBatchesRepository;
  let settlements: VendorSettlementRepository;
  let lanes: VendorLanesRepository;
  let [app, lane] = ['', ''];

  const useLane = async (name: string) => {
    [app, lane] = [unique('app'), name];
    await database.query('INSERT INTO push.vendor_lanes (app_id, lane, credentials_at) VALUES ($1, $2, $3)', [
      app,
      lane,
      VERSION,
    ]);
  };
  const addDevices = async (count: number): Promise<string[]> => {
    const ids = Array.from({ length: count }, () => randomBytes(12).toString('hex'));
    await database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, fields, created_at, updated_at)
       SELECT $1, id, 0, 'ios', id, jsonb_build_object('vendor', 'mi', 'registrationId', id), now(), now() FROM unnest($2::text[]) AS id`,
      [app, ids],
    );
    return ids;
  };
  const claimed = async (ids: readonly string[]): Promise<VendorBatch> => {
    const push = randomBytes(12).toString('hex');
    await database.query(
      `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts)
       VALUES ($1, $2, 'done', false, '{}', '{}', '{"body":"{}","bodies":{}}', 'prod', now(), now() + interval '1 hour', now(), now(), '{}')`,
      [app, push],
    );
    const [vendor] = lane.split('/');
    await database.query(
      'INSERT INTO push.vendor_counts (app_id, object_id, vendor, targeted) VALUES ($1, $2, $3, $4)',
      [app, push, vendor, ids.length],
    );
    await database.query(
      `INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, next_at, expires_at)
       VALUES ($1, $2, $3, false, $4, date_trunc('milliseconds', now()), now() + interval '1 hour')`,
      [app, push, lane, ids],
    );
    return claimAny();
  };
  /** Claims until it gets a batch, as a sender does: one that another claims at the same time leaves it without any. */
  const claimAny = async (): Promise<VendorBatch> => {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const [batch] = await batches.claim(1, unique('lease'), false, EVERY_LANE);
      if (batch !== undefined) return batch;
    }
    throw new Error('no batch could be claimed in 100 attempts');
  };
  const settlementFor = (ids: readonly string[], outcomes: readonly Outcome[]): Settlement => {
    const results = ids.map((objectId, place): TargetOutcome => {
      const target = { objectId, token: objectId, platform: 'ios', topic: null, badge: null };
      return { objectId, badge: null, target, outcome: outcomes[place]! };
    });
    const calm = { attempt: 0, now: new Date(), endsAt: new Date(Date.now() + 3_600_000), backOffMs: 0, random: 0.5 };
    return settlementOf(results, calm);
  };
  const answersOf = (outcomes: readonly Outcome[], version = VERSION) => ({
    version: version.getTime(),
    answers: outcomes.length,
    good: outcomes.filter(({ kind }) => kind === 'accepted').length,
    doubtful: outcomes.filter((one) => one === doubtful).length,
  });
  /** Sends to as many devices. @returns the ids of those that are invalid now, and what was decided */
  const settle = async (outcomes: readonly Outcome[], version = VERSION) => {
    const ids = await addDevices(outcomes.length);
    const batch = await claimed(ids);
    const settled = await settlements.settle(batch, settlementFor(ids, outcomes), answersOf(outcomes, version));
    const counts = (await batches.countsOf(app, [batch.objectId])).get(batch.objectId)?.[lane.split('/')[0] ?? ''];
    return { ids, invalid: await invalidAmong(ids), settled, counts };
  };
  const invalidAmong = async (ids: readonly string[]) => {
    const rows = await database.query<{ id: string }>(
      'SELECT object_id AS id FROM push.installations WHERE app_id = $1 AND object_id = ANY ($2) AND NOT valid',
      [app, ids],
    );
    return rows.map(({ id }) => id);
  };
  const key = () => {
    const [vendor = '', profile = '', part = ''] = lane.split('/');
    return { appId: app, vendor: vendor as 'apns', profile, part };
  };
  const state = async () => (await lanes.states(app)).find((one) => one.lane === lane)!;

  beforeAll(async () => {
    database = await openPushDatabase(8);
    batches = new VendorBatchesRepository(database);
    settlements = new VendorSettlementRepository(database);
    lanes = new VendorLanesRepository(database);
  });
  // A test that fails leaves no batch to the next.
  beforeEach(() => database.query('DELETE FROM push.vendor_batches'));
  afterAll(() => database.close());

  it('names the most frequent reasons alone, and counts the others together', async () => {
    await useLane('web-push/_default//prod');
    const rare = Array.from({ length: 50 }, (_, place): Outcome => ({ kind: 'rejected', reason: `reason${place}` }));
    const { counts } = await settle([...rare, ...times(3, { kind: 'rejected', reason: 'status 403' })]);
    const { 'status 403': frequent, 'other reasons': others, ...named } = counts?.reasons ?? {};
    expect([frequent, others, Object.keys(named).length, counts?.rejected]).toEqual([3, 20, 30, 53]);
  });

  it('removes no token in doubt before the vendor has accepted one with these credentials', async () => {
    await useLane('fcm/_default//prod');
    const first = await settle([doubtful]);
    expect(first).toMatchObject({ invalid: [], counts: { invalid: 0, rejected: 1 } });
    expect(first.counts?.reasons).toEqual({ 'BadDeviceToken in doubt': 1 });
    expect((await settle(times(9, doubtful))).settled).toMatchObject({ isNewlyDoubted: true });
    expect((await state()).isDoubted).toBe(true);
    expect((await settle(times(200, doubtful))).invalid).toEqual([]);
  });

  it('removes single tokens in doubt once the vendor has accepted one, even where most answers are of this kind', async () => {
    await useLane('fcm/_default//prod');
    await settle([good]);
    for (let one = 0; one < 20; one += 1) {
      const { ids, invalid, counts } = await settle([doubtful]);
      expect([invalid, counts?.reasons]).toEqual([ids, { BadDeviceToken: 1 }]);
    }
    expect(await state()).toMatchObject({ isDoubted: false });
  });

  it('waits for no settlement of another batch that refers to the same device', async () => {
    await useLane('fcm/_default//prod');
    const ids = await addDevices(1);
    const batch = await claimed(ids);
    const dead: Outcome = { kind: 'invalid', reason: 'UNREGISTERED' };
    // As the foreign key of a device that takes development pushes.
    await database.transaction(async (tx) => {
      await tx.query('SELECT FROM push.installations WHERE object_id = ANY ($1) FOR KEY SHARE', [ids]);
      await settlements.settle(batch, settlementFor(ids, [dead]), answersOf([dead]));
    });
    expect(await invalidAmong(ids)).toEqual(ids);
  });

  it('doubts a lane with too many of them, in a push and across processes, until enough answers are good', async () => {
    await useLane('oppo/_default//prod');
    await settle(times(40, good));
    const many = await settle([...times(30, doubtful)]);
    expect([many.invalid, many.settled?.isNewlyDoubted]).toEqual([[], true]);
    // Other processes share the doubt, and time does not end it.
    await database.query(`UPDATE push.vendor_lanes SET counted_since = now() - interval '1 day' WHERE app_id = $1`, [
      app,
    ]);
    const again = await settle([doubtful]);
    expect([again.invalid, again.settled?.isNewlyDoubted]).toEqual([[], false]);
    await settle([...times(44, good), ...times(2, doubtful)]);
    expect((await state()).isDoubted).toBe(true);
    await settle(times(10, good));
    expect((await state()).isDoubted).toBe(false);
    const after = await settle([doubtful]);
    expect(after.invalid).toEqual(after.ids);
  });

  it('deletes old answers', async () => {
    await useLane('oppo/_default//prod');
    await settle(times(8, good));
    await settle(times(8, doubtful));
    await database.query(
      `UPDATE push.vendor_lanes SET counted_since = now() - interval '16 minutes' WHERE app_id = $1`,
      [app],
    );
    await settle([good]);
    const [row] = await database.query<{ good: number; doubtful: number; answers: number }>(
      'SELECT good, doubtful, answers FROM push.vendor_lanes WHERE app_id = $1',
      [app],
    );
    expect(row).toEqual({ good: 2, doubtful: 1, answers: 3 });
  });

  it('trusts an operator for an hour', async () => {
    await useLane('vivo/_default//prod');
    await settle(times(60, doubtful));
    expect(await state()).toMatchObject({ isDoubted: true, isTrusted: false });
    expect(await lanes.change(key(), 'trust')).toBe(true);
    expect(await state()).toMatchObject({ isDoubted: false, isTrusted: true });
    const trusted = await settle(times(60, doubtful));
    expect(trusted.invalid.toSorted()).toEqual(trusted.ids.toSorted());
    await database.query('UPDATE push.vendor_lanes SET trusted_until = now() WHERE app_id = $1', [app]);
    expect((await settle(times(60, doubtful))).invalid).toEqual([]);
    expect((await state()).isDoubted).toBe(true);
  });

  it('counts no answers of earlier credentials', async () => {
    await useLane('fcm/_default//prod');
    await settle(times(5, good), new Date(VERSION.getTime() - 1));
    expect((await settle([doubtful])).invalid).toEqual([]);
  });

  it("keeps Apple's tokens in doubt unless they are few, and those of devices that take pushes for development", async () => {
    await useLane('apns/_default/TEAM123456/prod');
    await settle([good]);
    expect((await settle([doubtful])).invalid).toEqual([]);
    await settle(times(30, good));
    const few = await settle([doubtful]);
    expect(few.invalid).toEqual(few.ids);
    const [id = ''] = await addDevices(1);
    await database.query('INSERT INTO push.vendor_lanes (app_id, lane, credentials_at) VALUES ($1, $2, $3)', [
      app,
      'apns/_default/TEAM123456/dev',
      VERSION,
    ]);
    lane = 'apns/_default/TEAM123456/dev';
    await settlements.settle(await claimed([id]), settlementFor([id], [good]), answersOf([good]));
    lane = 'apns/_default/TEAM123456/prod';
    await settlements.settle(await claimed([id]), settlementFor([id], [doubtful]), answersOf([doubtful]));
    expect(await invalidAmong([id])).toEqual([]);
  });

  it('is shared by all processes: of 40 at once, none removes a token of the wrong credentials', async () => {
    await useLane('meizu/_default//prod');
    const all = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const ids = await addDevices(5);
        return { ids, batch: await claimed(ids) };
      }),
    );
    const outcomes = times(5, doubtful);
    await Promise.all(
      all.map(({ ids, batch }) => {
        const own = batch.targets.length === ids.length ? [...batch.targets] : ids;
        return settlements.settle(batch, settlementFor(own, outcomes), answersOf(outcomes));
      }),
    );
    expect(await invalidAmong(all.flatMap(({ ids }) => ids))).toEqual([]);
    const [row] = await database.query<{ answers: number; isDoubted: boolean }>(
      'SELECT answers, doubted_at IS NOT NULL AS "isDoubted" FROM push.vendor_lanes WHERE app_id = $1',
      [app],
    );
    expect(row?.isDoubted).toBe(true);
  });

  it('numbers the answers of the vendor, and marks a batch that may have reached it', async () => {
    await useLane('vivo/_default//prod');
    const ids = await addDevices(1);
    const batch = await claimed(ids);
    expect(batch).toMatchObject({ keyNo: 0, isRepeat: false });
    const again = async (outcome: Outcome, of: VendorBatch) => {
      await settlements.settle(of, { ...settlementFor(ids, [outcome]), delayMs: 0 });
      const [next] = await batches.claim(1, unique('lease'), false, EVERY_LANE);
      return next!;
    };
    const answered = await again({ kind: 'later', reason: 'r', scope: 'device' }, batch);
    expect(answered).toMatchObject({ keyNo: 1, isRepeat: false });
    const silent = await again({ kind: 'unsure', reason: 'r', scope: 'lane' }, answered);
    expect(silent).toMatchObject({ keyNo: 1, isRepeat: true });
    await database.query(`UPDATE push.vendor_batches SET lease_until = now() - interval '1 second'`);
    const [resumed] = await batches.claim(1, unique('lease'), false, EVERY_LANE);
    expect(resumed).toMatchObject({ keyNo: 1, isRepeat: true });
    expect(await settlements.settle(silent, settlementFor(ids, [good]))).toBeUndefined();
  });

  it('makes a batch due at once where its lane was resumed during the attempt', async () => {
    await useLane('meizu/_default//prod');
    const ids = await addDevices(1);
    const batch = await claimed(ids);
    const paused = { ...settlementFor(ids, [{ kind: 'waiting', reason: 'paused' }]), delayMs: 300_000 };
    await batches.resume(app, ['meizu/_default//dev']);
    await settlements.settle(batch, paused);
    expect(await batches.claim(1, unique('lease'), false, EVERY_LANE)).toEqual([]);
    await batches.resume(app, [lane]);
    const [again] = await batches.claim(1, unique('lease'), false, EVERY_LANE);
    await batches.resume(app, [lane]);
    await settlements.settle(again!, paused);
    expect(await batches.claim(1, unique('lease'), false, EVERY_LANE)).toMatchObject([{ id: batch.id }]);
  });

  it('tries for a day without a pause, and passes on when the push expires', async () => {
    await useLane('meizu/_default//prod');
    const ids = await addDevices(1);
    const batch = await claimed(ids);
    await database.query(`UPDATE push.notifications SET expires_at = now() + interval '7 days' WHERE object_id = $1`, [
      batch.objectId,
    ]);
    const waiting = { ...settlementFor(ids, [{ kind: 'waiting', reason: 'paused' }]), delayMs: 0 };
    const hoursAfter = async (of: VendorBatch) => {
      await settlements.settle(of, waiting);
      const [next] = await batches.claim(1, unique('lease'), false, EVERY_LANE);
      const hours = (time: Date) => Math.round((time.getTime() - Date.now()) / 3_600_000);
      return { next: next!, push: hours(next!.expiresAt), batch: hours(next!.endsAt) };
    };
    const running = await hoursAfter(batch);
    expect(running).toMatchObject({ push: 168, batch: 1 });
    await database.query('UPDATE push.vendor_lanes SET paused_at = now() WHERE app_id = $1', [app]);
    expect(await hoursAfter(running.next)).toMatchObject({ push: 168, batch: 24 });
  });

  it('claims by lane, however many batches of a closed lane wait before', async () => {
    const name = 'meizu/_default//prod';
    await useLane(name);
    const open = await claimed([]);
    await useLane(name);
    const closed = await claimed([]);
    await database.query('DELETE FROM push.vendor_batches');
    const fill = (batch: VendorBatch, waiting: number, since: string) =>
      database.query(
        `INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, next_at, expires_at)
         SELECT $1, $2, $3, false, '{a}', now() - $5::interval, now() + interval '1 hour' FROM generate_series(1, $4::int)`,
        [batch.appId, batch.objectId, name, waiting, since],
      );
    await fill(closed, BACKLOG, '1 hour');
    await fill(open, 10, '1 minute');
    await database.query('VACUUM ANALYZE push.vendor_batches');
    const rooms = { named: new Map([[`${closed.appId} ${name}`, 0]]), others: 2 };
    const { indexes } = await queryPlan(database, (within) =>
      new VendorBatchesRepository(within as PushDatabase).claim(8, 'explained', false, rooms),
    );
    expect(indexes).toContain('vendor_batches_lane_idx');
    // It orders the batches of all lanes.
    expect(indexes).not.toContain('vendor_batches_waiting_idx');
    await database.query('UPDATE push.vendor_batches SET lease_until = NULL, lease_owner = NULL WHERE app_id = $1', [
      open.appId,
    ]);
    const found = await batches.claim(8, unique('lease'), false, rooms);
    expect(found.map(({ appId }) => appId)).toEqual([open.appId, open.appId]);
  });

  it('finds new batches due at the time at which they are added', async () => {
    await useLane('meizu/_default//prod');
    const ids = await addDevices(1);
    const { objectId } = await claimed(ids);
    const share = {
      objectId,
      isBulk: false,
      badges: new Set<string>(),
      lanes: new Map([[lane, ids]]),
      missing: new Map(),
    };
    // PostgreSQL rounds half of the times up to the next millisecond.
    for (let round = 0; round < 20; round += 1) {
      const [added] =
        (await recordWithShares(database, { appId: app, shares: [share] }, (within) =>
          within.query<{ isDue: boolean }>('SELECT bool_and(next_at <= now()) AS "isDue" FROM push.vendor_batches'),
        )) ?? [];
      expect(added).toEqual({ isDue: true });
    }
  });

  it('makes tokens on a list invalid, unless the device was saved after the list was read before', async () => {
    await useLane('xiaomi/_default//prod');
    const [old = '', young = ''] = await addDevices(2);
    await database.query(`UPDATE push.installations SET updated_at = now() - interval '2 hours' WHERE object_id = $1`, [
      old,
    ]);
    const before = new Date(Date.now() - 3_600_000);
    expect(await lanes.invalidate({ appId: app, lane, before }, ['mi'], [old, young, 'unknown'])).toBe(1);
    expect(await invalidAmong([old, young])).toEqual([old]);
    expect(await lanes.invalidate({ appId: app, lane, before }, ['mi-intl'], [young])).toBe(0);
  });

  it('asks for the list of a lane once an hour, and only of one that has sent', async () => {
    await useLane('xiaomi/_default//prod');
    expect(await lanes.claimList('xiaomi', 3_600)).toBeUndefined();
    await settle([good]);
    const first = await lanes.claimList('xiaomi', 3_600);
    expect(first).toEqual({ appId: app, lane, before: null });
    await lanes.confirmList(first!);
    await settle([good]);
    expect(await lanes.claimList('xiaomi', 3_600)).toBeUndefined();
    await database.query(
      `UPDATE push.vendor_lanes SET list_asked_at = now() - interval '61 minutes' WHERE app_id = $1`,
      [app],
    );
    expect((await lanes.claimList('xiaomi', 3_600))?.before).toBeInstanceOf(Date);
  });

  it('lists the senders that run', async () => {
    expect(await lanes.senders()).toBe(0);
    await lanes.report('one');
    await lanes.report('two');
    await lanes.report('one');
    expect(await lanes.senders()).toBe(2);
    await lanes.leave('two');
    await database.query(`UPDATE push.vendor_senders SET seen_at = now() - interval '2 minutes'`);
    expect(await lanes.senders()).toBe(0);
  });
});
