import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { dateOf, geoPointOf, parsePointer } from './values.js';

describe('dateOf', () => {
  it.each([
    ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.678901Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05+08:00', '2026-01-01T19:04:05.000Z'],
    ['2026-01-02T03:04:05-0130', '2026-01-02T04:34:05.000Z'],
    ['2026-01-02T03:04', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('parses %s, bare and as a Date value', (iso, canonical) => {
    expect(dateOf(iso)?.toISOString()).toBe(canonical);
    expect(dateOf({ __type: 'Date', iso })?.toISOString()).toBe(canonical);
  });

  it.each<JsonValue | undefined>([
    undefined,
    null,
    '',
    'yesterday',
    '2026',
    '2026-02-30',
    '2026-13-01',
    '2026-00-01',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:00Z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02 03:04:05',
    '2026-01-02T03:04:05+99:99',
    ' 2026-01-02',
    '2026-01-02Z',
    '0000-12-31',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '-000001-01-01T00:00:00Z',
    '+012026-01-01T00:00:00Z',
    1767225600000,
    ['2026-01-02'],
    { iso: '2026-01-02' },
    { __type: 'Date' },
    { __type: 'Date', iso: 1767225600000 },
    { __type: 'Bytes', iso: '2026-01-02' },
  ])('rejects %j as a time', (value) => {
    expect(dateOf(value)).toBeUndefined();
  });

  it('does not depend on the time zone of the machine', () => {
    expect(dateOf('2026-07-01T12:00:00')?.getTime()).toBe(Date.UTC(2026, 6, 1, 12));
  });
});

describe('parsePointer', () => {
  const named = { className: '_User', objectId: 'a1' };

  it.each<JsonValue>([
    { __type: 'Pointer', ...named },
    { __type: 'Pointer', ...named, username: 'ada' },
    { __type: 'Object', ...named, createdAt: '2026-01-02T03:04:05.678Z' },
  ])('reads %j', (value) => {
    expect(parsePointer(value)).toEqual(named);
  });

  it.each<JsonValue | undefined>([
    undefined,
    null,
    'a1',
    [],
    {},
    named,
    { __type: 'Pointer', className: '_User' },
    { __type: 'Pointer', objectId: 'a1' },
    { __type: 'Pointer', className: '_User', objectId: null },
    { __type: 'Pointer', className: '_User', objectId: '' },
    { __type: 'Pointer', className: '_User', objectId: 'role:admin' },
    { __type: 'Pointer', className: '_User', objectId: 'a'.repeat(65) },
    { __type: 'Pointer', className: '_User', objectId: { $ne: 1 } },
    { __type: 'Pointer', className: '', objectId: 'a1' },
    { __type: 'Pointer', className: 'A b', objectId: 'a1' },
    { __type: 'Pointer', className: '__proto__', objectId: 'a1' },
    { __type: 'Pointer', className: 7, objectId: 'a1' },
    { __type: 'File', ...named },
  ])('refuses %.80j', (value) => {
    expect(() => parsePointer(value)).toThrow(expect.objectContaining({ errorName: 'MALFORMED_POINTER' }) as Error);
  });
});

describe('geoPointOf', () => {
  it.each([
    [0, 0],
    [90, 180],
    [-90, -180],
    [39.9, 116.4],
  ])('reads %d, %d', (latitude, longitude) => {
    expect(geoPointOf({ __type: 'GeoPoint', latitude, longitude, extra: 1 })).toEqual({ latitude, longitude });
  });

  it('reads degrees that PostgreSQL cannot compute with as 0', () => {
    const [latitude, longitude] = [5e-324, -1e-200];
    expect(geoPointOf({ __type: 'GeoPoint', latitude, longitude })).toEqual({ latitude: 0, longitude: 0 });
  });

  it.each<JsonValue | undefined>([
    undefined,
    null,
    [1, 2],
    { latitude: 1, longitude: 2 },
    { __type: 'GeoPoint', latitude: 90.1, longitude: 0 },
    { __type: 'GeoPoint', latitude: 0, longitude: -180.1 },
    { __type: 'GeoPoint', latitude: '1', longitude: 2 },
    { __type: 'GeoPoint', latitude: 1 },
    { __type: 'GeoPoint', latitude: Number.NaN, longitude: 2 },
  ])('rejects %j as a point', (value) => {
    expect(geoPointOf(value)).toBeUndefined();
  });
});
