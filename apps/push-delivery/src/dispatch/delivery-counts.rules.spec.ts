import { describe, expect, it } from 'vitest';
import {
  deliveryCountsOf,
  isSettled,
  withFewPlatforms,
  withStatistics,
  withTargeted,
} from './delivery-counts.rules.js';

const installation = (deviceType: string | null, installationId: string | null = 'id') => ({
  objectId: 'o',
  partition: 0,
  installationId,
  deviceType,
});
const counts = (given: object) => ({
  web: { targeted: 0, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0, ...given },
});
const shown = (given: object) => ({
  targeted: 0,
  delivered: 0,
  queued: 0,
  expired: 0,
  overflowed: 0,
  unreachable: 0,
  ...given,
});

describe('the counts of a push', () => {
  it('hold every installation by its platform, including names of JavaScript properties', () => {
    const page = [installation('web'), installation('ios', null), installation(null), installation('__proto__')];
    const found = withTargeted(withTargeted({}, page), [installation('web')]);
    expect(
      Object.entries(found).map(([platform, { targeted, unreachable }]) => [platform, targeted, unreachable]),
    ).toEqual([
      ['web', 2, 0],
      ['ios', 1, 1],
      ['unknown', 1, 0],
      ['__proto__', 1, 0],
    ]);
  });

  it('name a limited number of platforms, and always those with bodies', () => {
    const madeUp = Array.from({ length: 1_000 }, (_, index) => installation(`p${index}`));
    const first = withTargeted({}, withFewPlatforms({}, madeUp));
    expect([Object.keys(first).length, first['other']?.targeted]).toEqual([33, 968]);
    const next = [...madeUp, installation('android'), installation(null)];
    const second = withTargeted(first, withFewPlatforms(first, next));
    expect(Object.keys(second).length).toBe(34);
    expect([second['p0']?.targeted, second['android']?.targeted, second['other']?.targeted]).toEqual([2, 1, 1_937]);
    expect(withFewPlatforms(first, next)).toEqual(withFewPlatforms(first, next));
  });

  it('never shrink after the queues have deleted their statistics', () => {
    const statistics = new Map([['web', { enqueued: 5, acknowledged: 3, overflowed: 1 }]]);
    const known = withStatistics(counts({ targeted: 5 }), statistics);
    expect(withStatistics(known, new Map([['web', { enqueued: 0, acknowledged: 0, overflowed: 0 }]]))).toEqual(known);
    expect(withStatistics(known, new Map())).toEqual(known);
  });

  it.each([
    ['while it waits', false, { queued: 3, expired: 0 }],
    ['after its expiry', true, { queued: 0, expired: 3 }],
  ])('add up %s', (_, isExpired, open) => {
    const known = counts({ targeted: 10, unreachable: 2, enqueued: 8, acknowledged: 4, overflowed: 1 });
    expect(deliveryCountsOf(known, { isExpired })).toEqual({
      web: shown({ targeted: 10, delivered: 4, overflowed: 1, unreachable: 2, ...open }),
    });
  });

  it('add up if the queues are ahead of the scan or behind it', () => {
    expect(
      deliveryCountsOf(counts({ targeted: 3, unreachable: 1, enqueued: 6, acknowledged: 6 }), { isExpired: false }),
    ).toEqual({
      web: shown({ targeted: 7, delivered: 6, unreachable: 1 }),
    });
    expect(deliveryCountsOf(counts({ targeted: 3 }), { isExpired: false })).toEqual({
      web: shown({ targeted: 3, queued: 3 }),
    });
  });

  it('are settled when every reachable device has received or dropped the message', () => {
    const known = { targeted: 4, unreachable: 1, enqueued: 3, acknowledged: 2, overflowed: 1 };
    expect(isSettled(counts(known))).toBe(true);
    expect(isSettled(counts({ ...known, acknowledged: 1 }))).toBe(false);
    expect(isSettled({})).toBe(true);
  });
});
