import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settlementOf, type TargetOutcome } from './settlement.rules.js';
import type { Outcome } from './vendor-channel.rules.js';

const NOW = new Date('2026-12-01T00:00:00Z');
const IN_AN_HOUR = new Date('2026-12-01T01:00:00Z');
const calm = { attempt: 0, now: NOW, endsAt: IN_AN_HOUR, backOffMs: 0, random: 0.5 };
const target = { objectId: '', token: 'token', platform: 'ios', topic: null, badge: null };
const resultsOf = (...outcomes: Outcome[]): TargetOutcome[] =>
  outcomes.map((outcome, place) => ({ objectId: String(place), badge: place, target, outcome }));

describe('the settlement of an attempt', () => {
  it('counts results, and tries the rest again', () => {
    const since = new Date(5);
    const results = resultsOf(
      { kind: 'accepted' },
      { kind: 'invalid', reason: 'Unregistered', since },
      { kind: 'rejected', reason: 'PayloadTooLarge' },
      { kind: 'later', reason: 'ServiceUnavailable', scope: 'lane' },
      { kind: 'unsure', reason: 'no answer', scope: 'lane' },
      { kind: 'invalid', reason: 'BadDeviceToken', isDoubtful: true },
    );
    expect(settlementOf(results, calm)).toEqual({
      counts: { accepted: 1, invalid: 1, doubtful: 1, rejected: 1, expired: 0 },
      reasons: { Unregistered: 1, PayloadTooLarge: 1 },
      doubtfulReasons: { BadDeviceToken: 1 },
      dead: [
        { objectId: '1', token: 'token', reason: 'Unregistered', since, isDoubtful: false },
        { objectId: '5', token: 'token', reason: 'BadDeviceToken', since: null, isDoubtful: true },
      ],
      proven: ['0'],
      remaining: [
        { objectId: '3', badge: 3 },
        { objectId: '4', badge: 4 },
      ],
      delayMs: 1_000,
      isAttempt: true,
      isAnswered: true,
    });
  });

  it('waits as long as the vendor asks, at most ten minutes, and distinguishes an answer from a missing one', () => {
    const later = settlementOf(resultsOf({ kind: 'later', reason: 'r', scope: 'device', backOffMs: 90_000 }), calm);
    expect(later).toMatchObject({ delayMs: 90_000, isAnswered: true });
    const long = settlementOf(resultsOf({ kind: 'later', reason: 'r', scope: 'device', backOffMs: 86_400_000 }), calm);
    expect(long.delayMs).toBe(600_000);
    expect(settlementOf(resultsOf({ kind: 'unsure', reason: 'r', scope: 'lane' }), calm).isAnswered).toBe(false);
  });

  it.each([
    [0, 1_000],
    [2, 15_000],
    [5, 900_000],
    [40, 900_000],
  ])('after %i attempts waits %i ms', (attempt, delayMs) => {
    const endsAt = new Date('2026-12-02T00:00:00Z');
    expect(
      settlementOf(resultsOf({ kind: 'later', reason: 'r', scope: 'device' }), { ...calm, attempt, endsAt }).delayMs,
    ).toBe(delayMs);
  });

  it('waits for its lane, and does not count as an attempt where nothing was tried', () => {
    const settlement = settlementOf(resultsOf({ kind: 'waiting', reason: 'rests' }), { ...calm, backOffMs: 7_000 });
    expect(settlement).toMatchObject({ delayMs: 7_000, isAttempt: false });
  });

  it('tries a last time shortly before the end, and expires what is left then', () => {
    const open = resultsOf({ kind: 'later', reason: 'r', scope: 'device' });
    const last = settlementOf(open, { ...calm, backOffMs: 7_200_000 });
    expect(last).toMatchObject({ counts: { expired: 0 }, reasons: {}, remaining: [{}], delayMs: 3_598_000 });
    const over = settlementOf(open, { ...calm, now: new Date(NOW.getTime() + last.delayMs) });
    expect(over).toMatchObject({ counts: { expired: 1 }, reasons: { r: 1 }, remaining: [] });
  });

  it('lets devices of one server wait for the rest of another one only where all have the same', () => {
    const busy: Outcome = { kind: 'later', reason: 'r', scope: 'device', backOffMs: 90_000 };
    const backingOff: Outcome = { kind: 'waiting', reason: 'r', backOffMs: 60_000 };
    const failed: Outcome = { kind: 'later', reason: 'r', scope: 'device' };
    const delayOf = (...outcomes: Outcome[]) => settlementOf(resultsOf(...outcomes), calm).delayMs;
    expect(delayOf(busy, backingOff, failed)).toBe(1_000);
    expect(delayOf(busy, backingOff)).toBe(60_000);
    expect(delayOf({ ...busy, scope: 'lane' }, backingOff)).toBe(90_000);
  });

  it('accounts for each device once', () => {
    const kinds = ['accepted', 'invalid', 'rejected', 'later', 'unsure', 'credentials', 'waiting'] as const;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...kinds)), fc.boolean(), (some, hasNoTimeLeft) => {
        const results = resultsOf(...some.map((kind) => ({ kind, reason: 'r', scope: 'lane' as const })));
        const { counts, remaining } = settlementOf(results, { ...calm, endsAt: hasNoTimeLeft ? NOW : IN_AN_HOUR });
        const sum = Object.values(counts).reduce((total, count) => total + count, 0);
        expect(sum + remaining.length).toBe(some.length);
      }),
    );
  });
});
