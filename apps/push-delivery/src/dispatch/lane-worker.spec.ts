import { Logger } from '@nestjs/common';
import { beforeAll, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { Metrics } from '#observability';
import { eventually } from '#testing';
import { type LaneTools, laneWorker } from './lane-worker.js';
import type { LaneLease, TurnEnd } from './lanes.repository.js';

const device = { deviceType: 'ios', partition: 0, installationId: null, address: { hasToken: true, topic: 'app' } };

const pushTo = (objectId: string, devices: number) => ({
  appId: 'app',
  objectId,
  devices,
  flowControl: null,
  hasVendors: true,
  message: { body: '{"badge":"Increment"}', bodies: {} },
  prod: 'prod',
  counts: {},
  failures: 0,
  expiresAt: new Date(Date.now() + 3_600_000),
});

/** The tools of a lane with the pushes. @param groups gets the ids of the pushes that end together */
function toolsFor(pushes: ReturnType<typeof pushTo>[], groups: string[][]) {
  let isClaimed = false;
  const lanes = {
    claim: () => {
      const claimed = isClaimed ? [] : [{ appId: 'app', lease: 'own', isTakenOver: false }];
      isClaimed = true;
      return Promise.resolve({ claimed, areOthersWaiting: false });
    },
    findPushes: (_: LaneLease, limit: number) => Promise.resolve(pushes.slice(0, limit)),
    finish: (_: LaneLease, ends: readonly TurnEnd[]) => {
      groups.push(ends.map(({ objectId }) => objectId));
      pushes.splice(0, ends.length);
      return Promise.resolve(pushes.length > 0 ? 'more' : 'released');
    },
    renew: (held: readonly LaneLease[]) => Promise.resolve(new Set(held)),
  };
  const installations = {
    findFew: ({ devices }: { devices: number }) =>
      Promise.resolve(Array.from({ length: devices }, (_, index) => ({ ...device, objectId: String(index) }))),
  };
  const delivery = { enqueue: () => Promise.resolve({ message: {}, devices: [] }), wake: () => Promise.resolve() };
  const vendors = {
    channelsOf: () => Promise.resolve([{ vendor: 'apns', profile: '_default', part: 'TEAM', topics: ['app'] }]),
    batchesAdded: () => undefined,
  };
  const others = { clock: new Clock(), metrics: new Metrics(), logger: new Logger(), onLarge: () => undefined };
  return { lanes, installations, delivery, vendors, ...others } as unknown as LaneTools;
}

beforeAll(() => {
  Logger.overrideLogger(false);
});

it('ends a group of pushes with the one that reaches 500 badges', async () => {
  const sizes = [1, 1, 300, 300, 1, 600, 1, 1, 1, 1];
  const groups: string[][] = [];
  const worker = laneWorker(
    toolsFor(
      sizes.map((devices, place) => pushTo(String(place), devices)),
      groups,
    ),
  );
  worker.start();
  await eventually(() => {
    expect(groups.flat()).toHaveLength(sizes.length);
  });
  await worker.stop();
  expect(groups).toEqual([
    ['0', '1', '2', '3'],
    ['4', '5'],
    ['6', '7', '8', '9'],
  ]);
});
