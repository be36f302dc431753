import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPast, knownZone, localOf, momentOf, momentsOf } from './moments.rules';

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

it('every text of a date field is a moment of the years 1 to 9999, also with a digit too many', () => {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'];
  for (const local of ['20261-01-01T10:00', '275760-09-13T00:00']) expect(momentOf(local, 'UTC')).toBe(last);
  expect(isPast('20261-01-01T10:00', undefined, Date.now())).toBe(false);
  expect(momentOf('0001-01-01', 'Asia/Shanghai')).toBe(first);
  expect(momentsOf({ since: '0001-01-01', until: '9999-12-31' }, 'UTC')).toEqual({
    from: first,
    to: '9999-12-31T00:00:00.000Z',
  });
});

it('a zone that this browser does not know is that of the browser', () => {
  expect(['Asia/Shanghai', 'Mars/Olympus', '', null, undefined].map(knownZone)).toEqual([
    'Asia/Shanghai',
    ...[undefined, undefined, undefined, undefined],
  ]);
});
