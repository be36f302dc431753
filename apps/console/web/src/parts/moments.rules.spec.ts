import fc from 'fast-check';
import { expect, it } from 'vitest';
import { localOf, momentOf } from './moments.rules';

it.each(['UTC', 'Asia/Shanghai', 'Asia/Kathmandu'])('a moment comes back from its local time: %s', (zone) => {
  const [min, max] = [Date.UTC(2000, 0) / 1_000, Date.UTC(2100, 0) / 1_000];
  fc.assert(
    fc.property(fc.integer({ min, max }), (seconds) => {
      const moment = new Date(seconds * 1_000).toISOString();
      expect(momentOf(localOf(moment, zone), zone)).toBe(moment);
    }),
  );
});

it('of a time that the clock repeats the first moment counts, and a text that is no moment has no local time', () => {
  const second = '2026-11-01T06:30:00.000Z';
  expect(localOf(second, 'America/New_York')).toBe('2026-11-01T01:30:00');
  expect(momentOf('2026-11-01T01:30:00', 'America/New_York')).toBe('2026-11-01T05:30:00.000Z');
  expect(localOf('', 'UTC')).toBe('');
});
