import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ThingTable } from '../../test/thing-table.js';
import type { FieldIndex } from './field-index.js';

const ROWS = 400;
const INDEXES: readonly FieldIndex[] = [{ fields: ['a'] }, { fields: ['b', 'a'] }, { fields: ['c', 'b', 'a'] }];
/** Texts that are longer than their indexed prefix, and equal within it. */
const LONG = ['x', 'y'].map((end) => `${'ä'.repeat(120)}${end}`);
const DATES = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'].map((iso) => ({ __type: 'Date', iso }));
const VALUES = [
  ...[0, 1, 1.5, -3, 1e21, 5e-324, 2 ** 53],
  ...['', '1', 'a', 'B', 'ä', '😀', 'null', '{"iso": "2026-01-01T00:00:00.000Z"}', ...LONG],
  ...[true, false, null],
  ...DATES,
  { __type: 'Pointer', className: 'Thing', objectId: 'b' },
  { __type: 'GeoPoint', latitude: 1.5, longitude: 2 },
  { n: 1 },
  { n: 'one' },
  {},
];
const LISTS = [[], [1], [1, 'a'], [null], [[1]], ['ä', true], [{ n: 'one' }], [DATES[0]], LONG, [{ n: 1 }, 1.5]];

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
  const fields = fc.record(
    { a: someValue(), b: someValue(), c: fc.constantFrom(1, 2, 'a', [1]) },
    { requiredKeys: [] },
  );
  const acl = fc.constantFrom(null, { '*': { read: true } }, { someone: { read: true } });
  const seed = 17;
  const rows = fc.sample(fc.record({ fields, acl }), { numRuns: ROWS, seed });
  await things.add(
    rows.map(({ fields: custom, acl: rights }, n) => ({
      id: `t${n % 7}${n}`,
      createdAt: `2026-01-01T00:00:0${n % 5}.000Z`,
      fields: custom,
      acl: rights,
    })),
  );
  await things.add([{ id: 'foreign', fields: { a: 1, b: 1, c: 1 } }], 'things', 'another');
  for (const index of INDEXES) await things.index(index);
  await things.database.query('ANALYZE things');
}, 60_000);
afterAll(() => things.close());

function someValue(): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fc.constantFrom(...VALUES), weight: 9 }, fc.constantFrom(...LISTS));
}

/** Values that `$gt` and similar operators can compare. */
const comparable = fc.constantFrom(...VALUES.filter((value) => typeof value !== 'object'), ...DATES);
const test = fc.oneof(
  someValue(),
  fc.record({ $in: fc.array(someValue(), { maxLength: 4 }) }),
  fc.record({ $gt: comparable }),
  fc.record({ $gte: comparable, $lt: comparable }),
  fc.record({ $lte: comparable, $ne: someValue() }),
  fc.record({ $exists: fc.boolean() }),
);
const conditions = fc.record(
  { a: test, b: test, c: fc.constantFrom(1, 'a', 2), name: fc.constant('t00') },
  { requiredKeys: [] },
);
const where = fc.oneof(
  { arbitrary: conditions, weight: 4 },
  fc.record({ $and: fc.array(conditions, { minLength: 1, maxLength: 2 }) }),
  fc.record({ $or: fc.array(conditions, { minLength: 1, maxLength: 2 }), a: test }),
);
const order = fc.constantFrom(
  '',
  'a',
  '-a',
  'b,a',
  '-b,-a',
  'b,-a',
  'a,createdAt',
  'createdAt',
  '-createdAt',
  '-createdAt,-objectId',
  'name',
);
const page = fc.record(
  { limit: fc.integer({ min: 1, max: 50 }), skip: fc.integer({ min: 0, max: 5 }) },
  { requiredKeys: [] },
);
const grantees = fc.constantFrom<'master' | string[]>('master', ['*'], ['*', 'someone']);

describe('an index created by an operator', () => {
  it('changes no result', async () => {
    await fc.assert(
      fc.asyncProperty(where, order, page, grantees, async (asked, wanted, bounds, who) => {
        const options = { order: wanted, ...bounds, scope: { grantees: who } };
        const expected = await things.find(asked, options);
        for (const indexes of [INDEXES, ...INDEXES.map((index) => [index])]) {
          expect(await things.find(asked, { ...options, indexes })).toEqual(expected);
          expect(await things.count(asked, options.scope, indexes)).toBe(await things.count(asked, options.scope));
        }
      }),
      { numRuns: 400 },
    );
  }, 300_000);

  it('accepts the longest texts, whatever their characters', async () => {
    const text = () => Array.from(randomBytes(4_000), (byte) => String.fromCodePoint(0x1_f400 + byte)).join('');
    await things.add([{ id: 'long', fields: { a: text(), b: text(), c: text() } }]);
    await things.database.query(`DELETE FROM things WHERE id = 'long'`);
  });
});
