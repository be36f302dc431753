import { describe, expect, it } from 'vitest';
import { nextStatisticsAt } from './delivery-counts.rules.js';

const MINUTE_MS = 60_000;
const at = (minutes: number) => new Date(minutes * MINUTE_MS);

describe('the statistics of a push are copied', () => {
  it.each([
    { when: 'a minute later while it is new', expires: 10_000, now: 0, next: 1 },
    { when: 'again after as long as since it was due', expires: 10_000, now: 20, next: 40 },
    { when: 'every six hours at least', expires: 10_000, now: 1_000, next: 1_360 },
    { when: 'a minute after its expiry at the latest', expires: 30, now: 30.5, next: 31 },
  ])('$when', ({ expires, now, next }) => {
    expect(nextStatisticsAt({ dueAt: at(0), expiresAt: at(expires) }, at(now))).toEqual(at(next));
  });

  it('not again after that', () => {
    expect(nextStatisticsAt({ dueAt: at(0), expiresAt: at(30) }, at(31))).toBeUndefined();
  });
});
