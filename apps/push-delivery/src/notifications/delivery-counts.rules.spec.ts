import { describe, expect, it } from 'vitest';
import { deliveriesOf, totalOf, withTally } from './delivery-counts.rules.js';
import type { PlatformCounts } from './notification.row.js';

const counts = (given: Partial<PlatformCounts>): PlatformCounts => ({
  targeted: 0,
  unreachable: 0,
  enqueued: 0,
  acknowledged: 0,
  overflowed: 0,
  ...given,
});

describe('deliveriesOf', () => {
  const whole = counts({ targeted: 10, unreachable: 1, enqueued: 9, acknowledged: 4, overflowed: 2 });

  it('counts what is left as queued, and as expired in the end', () => {
    const settled = { targeted: 10, delivered: 4, overflowed: 2, unreachable: 1 };
    expect(deliveriesOf({ web: whole }, false)).toEqual({ web: { ...settled, queued: 3, expired: 0 } });
    expect(deliveriesOf({ web: whole }, true)).toEqual({ web: { ...settled, queued: 0, expired: 3 } });
  });

  it.each<[string, Partial<PlatformCounts>]>([
    ['the queues are ahead of the scan', { targeted: 2, unreachable: 1, enqueued: 9, acknowledged: 4 }],
    ['the queues have forgotten what they had', { targeted: 9, unreachable: 1 }],
    ['only acknowledgements are known', { acknowledged: 4, overflowed: 2 }],
  ])('adds up where %s', (_, given) => {
    const { targeted, ...parts } = deliveriesOf({ web: counts(given) }, false)['web'] ?? { targeted: -1 };
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(targeted);
    expect(Object.values(parts).every((part) => part >= 0)).toBe(true);
  });

  it('is summed over platforms', () => {
    expect(totalOf(deliveriesOf({ web: whole, ios: whole }, false), 'delivered')).toBe(8);
  });
});

describe('withTally', () => {
  it('takes the newer sums, and leaves the scan its own', () => {
    const known = {
      web: counts({ targeted: 5, enqueued: 5, acknowledged: 1 }),
      ios: counts({ targeted: 1, unreachable: 1 }),
    };
    const tally = new Map([
      ['web', { enqueued: 5, acknowledged: 3, overflowed: 1 }],
      ['android', { enqueued: 2, acknowledged: 0, overflowed: 0 }],
    ]);
    expect(withTally(known, tally)).toEqual({
      web: counts({ targeted: 5, enqueued: 5, acknowledged: 3, overflowed: 1 }),
      ios: counts({ targeted: 1, unreachable: 1 }),
      android: counts({ enqueued: 2 }),
    });
  });

  it('keeps what the queues have forgotten', () => {
    const known = { web: counts({ targeted: 5, enqueued: 5, acknowledged: 5 }) };
    expect(withTally(known, new Map())).toEqual(known);
  });
});
