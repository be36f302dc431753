import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import type { JsonObject } from '#contracts';
import { DatabaseModule } from '#database';
import { Broadcasts, type DirectMessages, InProcessTransport, type RpcClient } from '#messaging';
import { QueryDatabase } from '#objects/store';
import { Metrics, ObservabilityModule } from '#observability';
import { eventually } from '#testing';
import { migratedOptions } from '../../test/push-database.js';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import {
  type DeviceQueues,
  type EnqueueBatch,
  openingOf,
  partitionOf,
  sessionIdOf,
} from '../device-queues/device-queues.js';
import { LanesRepository } from '../dispatch/lanes.repository.js';
import { PushDelivery } from '../dispatch/push-delivery.js';
import { PushDispatcher } from '../dispatch/push-dispatcher.js';
import { PushJobsRepository } from '../dispatch/push-jobs.repository.js';
import { InstallationScanRepository } from '../installations/installations.repository.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { PlatformCounts } from '../pushes/push.row.js';
import type { VendorCredentialsService } from '../vendors/vendor-credentials.service.js';
import { NotificationsRepository } from './notifications.repository.js';
import { PushAudienceController } from './push-audience.controller.js';
import { PushController } from './push.controller.js';

const APP = 'shop';
const DEVICES = 2_500;
const CONDITIONS = 200;
const PLATFORMS = ['android', 'ios', 'web', null];
const data = { alert: 'hello' };

/** Some devices have both channels, some one, most none. */
function channelsOf(n: number): string[] {
  if (n % 3 === 0) return ['news'];
  return n % 5 === 0 ? ['news', 'sport'] : [];
}

/** A condition that each operator of queries can be part of. */
function someWhere(): fc.Arbitrary<JsonObject> {
  const level = fc.integer({ min: 0, max: 9 });
  const simple = fc.oneof(
    fc.constant({}),
    level.map((value) => ({ level: value })),
    level.map((value) => ({ level: { $gt: value } })),
    level.map((value) => ({ level: { $ne: value } })),
    fc.subarray(['android', 'ios', 'web'], { minLength: 1 }).map((types) => ({ deviceType: { $in: types } })),
    fc.constantFrom('news', 'sport', 'none').map((channels) => ({ channels })),
    fc.boolean().map((isThere) => ({ city: { $exists: isThere } })),
    fc.constant({ city: { $regex: '^P' } }),
    level.map((n) => ({ installationId: `d-${n}` })),
  );
  const both = fc.tuple(simple, simple);
  return fc.oneof(
    simple,
    both.map((parts) => ({ $and: parts })),
    both.map((parts) => ({ $or: parts })),
  );
}

describe('the audience of a push', () => {
  let module: TestingModule;
  let database: PushDatabase;
  let queries: QueryDatabase;
  let audience: PushAudienceController;
  let pushes: PushController;
  let dispatcher: PushDispatcher;
  const count = (body: JsonObject) => audience.countTargets({ appId: APP, body: { data, ...body } });
  const preview = (body: JsonObject) => audience.preview({ appId: APP, body });

  beforeAll(async () => {
    const options = await migratedOptions(10);
    module = await Test.createTestingModule({
      imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options, PushDatabase)],
      providers: [NotificationsRepository],
    }).compile();
    database = module.get(PushDatabase);
    queries = new QueryDatabase(options);
    const scan = new InstallationScanRepository(database);
    const queues = {
      enqueue: ({ devices }: EnqueueBatch) => Promise.resolve(devices.slice(0, 0)),
      listConnected: () => Promise.resolve({ sessions: [], next: undefined }),
    } as unknown as DeviceQueues;
    const vendors = { channelsOf: () => Promise.resolve([]), batchesAdded: () => undefined };
    const credentials = vendors as unknown as VendorCredentialsService;
    const accounts = {
      call: (_: unknown, { appId }: { appId: string }) =>
        Promise.resolve({ application: appId === APP ? { settings: {} } : null }),
    } as unknown as RpcClient;
    const directory = new ApplicationDirectory(accounts, new Broadcasts(new InProcessTransport()));
    const nodes = { send: () => Promise.resolve() } as unknown as DirectMessages;
    dispatcher = new PushDispatcher(
      new LanesRepository(database),
      new PushJobsRepository(database),
      scan,
      new PushDelivery(queues, nodes, {} as ConnectorNodes),
      credentials,
      new Clock(),
      new Metrics(),
    );
    dispatcher.onApplicationBootstrap();
    const notifications = module.get(NotificationsRepository);
    pushes = new PushController(directory, notifications, database, new Clock(), dispatcher);
    audience = new PushAudienceController(directory, scan, queries, credentials, queues, new Clock());
    const rows = Array.from({ length: DEVICES }, (_, n) => {
      const installationId = n % 50 === 0 ? null : `d-${n}`;
      const age = n % 11 === 0 ? 91 : 1;
      return {
        app_id: APP,
        object_id: randomUUID(),
        partition: partitionOf({ appId: APP, installationId: installationId ?? '' }),
        installation_id: installationId,
        device_type: PLATFORMS[n % PLATFORMS.length],
        valid: n % 7 !== 0,
        fields: {
          channels: channelsOf(n),
          level: n % 10,
          ...(n % 4 === 0 ? { city: n % 8 === 0 ? 'Paris' : 'Oslo' } : {}),
        },
        created_at: new Date(),
        updated_at: new Date(Date.now() - age * 86_400_000),
      };
    });
    await database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, valid, fields, created_at, updated_at)
       SELECT app_id, object_id, partition, installation_id, device_type, valid, fields, created_at, updated_at
         FROM jsonb_populate_recordset(NULL::push.installations, $1::jsonb)`,
      [JSON.stringify(rows)],
    );
  }, 60_000);
  afterAll(async () => {
    await dispatcher.beforeApplicationShutdown();
    await queries.close();
    await module.close();
  });

  it(`counts the devices that the push then targets, for ${CONDITIONS} conditions`, async () => {
    const wheres = fc.sample(someWhere(), { numRuns: CONDITIONS, seed: 5 });
    const totals = new Set<number>();
    for (const where of wheres) {
      const counted = await count({ where });
      expect(counted.isExact).toBe(true);
      const { objectId } = await pushes.sendAsOperator({ appId: APP, body: { data, where } });
      const row = await eventually(async () => {
        const [found] = await database.query<{ status: string; counts: Record<string, PlatformCounts> }>(
          'SELECT status, counts FROM push.notifications WHERE object_id = $1',
          [objectId],
        );
        expect(found?.status).toBe('done');
        return found!;
      });
      const targeted = Object.entries(row.counts).map(([platform, { targeted: all, unreachable }]) => {
        return [platform, { targeted: all, unreachable, vendor: 0 }];
      });
      expect([where, counted.platforms]).toEqual([where, Object.fromEntries(targeted)]);
      totals.add(counted.total);
    }
    expect(totals.size).toBeGreaterThan(20);
  }, 240_000);

  it('names what a push leaves out, and some of the devices', async () => {
    const { total, leftOut, sample, unreachable } = await count({});
    const [real] = await database.query<{ targets: number; invalid: number; nameless: number }>(
      `SELECT (count(*) FILTER (WHERE valid AND updated_at > now() - interval '90 days'))::int AS targets,
              (count(*) FILTER (WHERE NOT valid))::int AS invalid,
              (count(*) FILTER (WHERE valid AND updated_at > now() - interval '90 days' AND installation_id IS NULL))::int AS nameless
         FROM push.installations`,
    );
    expect(total).toBe(real?.targets);
    expect(unreachable).toBe(real?.nameless);
    expect(leftOut).toEqual({ invalid: real?.invalid, notSeen: DEVICES - total - (real?.invalid ?? 0) });
    expect(sample).toHaveLength(5);
    // The message has content for one platform only.
    const ofApple = { ios: (await count({})).platforms['ios'] };
    expect((await count({ data: { ios: data } })).platforms).toEqual(ofApple);
    // No Android device has this vendor.
    expect((await count({ data: { ios: data, mi: data } })).platforms).toEqual(ofApple);
    expect((await count({ data: { mi: data } })).total).toBe(0);
  });

  it('says "at least" when the time is over', async () => {
    const scan = new InstallationScanRepository(database);
    const found: number[] = [];
    const push = { appId: APP, target: { where: [] }, hasVendors: false };
    expect(await scan.findInTime(push, 0, queries, (page) => found.push(page.length))).toBe(false);
    expect(found).toEqual([]);
    const blocked = await database.transaction(async (tx) => {
      await tx.query('LOCK TABLE push.installations');
      return [await scan.findInTime(push, 200, queries, () => undefined), await scan.countLeftOut(push, 200, queries)];
    });
    expect(blocked).toEqual([false, undefined]);
  });

  it('fails where the push would', async () => {
    await expect(count({ where: { a: { $strange: 1 } } })).rejects.toMatchObject({ errorName: 'INVALID_QUERY' });
    await expect(audience.countTargets({ appId: 'nowhere', body: { data } })).rejects.toMatchObject({
      errorName: 'NOT_FOUND',
    });
  });

  it('previews the bodies of platforms and the size', async () => {
    const body = { data: { alert: 'hello', ios: { badge: 1 } }, expiration_interval: 60 };
    const { message, problem, bytes, maxBytes } = await preview(body);
    expect([problem, bytes, maxBytes]).toEqual([null, JSON.stringify(body).length, 4_095]);
    expect(JSON.parse(message!.body)).toMatchObject({ alert: 'hello' });
    expect(JSON.parse(message!.bodies['ios']!)).toMatchObject({ alert: 'hello', badge: 1 });
    expect(message!.platforms).toBeNull();
    expect(Date.parse(message!.expiresAt) - Date.parse(message!.dueAt)).toBe(60_000);
    expect((await preview({ data: { ios: { badge: 1 } } })).message?.platforms).toEqual(['ios']);
  });

  it.each<[string, JsonObject]>([
    ['KEY_REQUIRED', {}],
    ['OBJECT_TOO_LARGE', { data: { alert: 'x'.repeat(5_000) } }],
    ['INVALID_QUERY', { data, where: { a: { $strange: 1 } } }],
  ])('previews the error %s', async (name, body) => {
    expect(await preview(body)).toMatchObject({ message: null, problem: { name } });
  });
});

describe('the id of a session', () => {
  it('says since when and with which protocol a device is connected', () => {
    const session = sessionIdOf(5, new Date('2026-01-01T10:00:00.750Z'), 'gatepost');
    expect(openingOf({ node: 'n', session })).toEqual({
      since: new Date('2026-01-01T10:00:00.000Z'),
      protocol: 'gatepost',
    });
  });

  it.each(['5', '', 'a b', '1.2.3', '名前'])('of an earlier version says neither: %j', (session) => {
    expect(openingOf({ node: 'n', session })).toEqual({ since: null, protocol: null });
  });
});
