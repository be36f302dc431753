import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ThingTable } from '../../test/thing-table.js';

const TEXTS = [
  "'; DROP TABLE things; --",
  "') OR TRUE --",
  '$1',
  '$$',
  '%',
  '\\',
  '\\E.*\\Q',
  '"',
  '\\"',
  '{"$gt":""}',
  '{1,2}',
  '@ == @',
  '$."secret"',
  '") || (1 == 1',
  "E'\\x27'",
  'null',
  'NULL',
  '\u0001\u001f\u007f',
  '\u2028\u202e\ufeff',
  '😀',
  '***:(?i)a',
  '(?:a|',
  '[[:<:]]',
  '  ',
  'x'.repeat(5_000),
];
const KEYS = ["it's", 'a b', '"', '\\', '😀', '?', '', 'type()', '*'];

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
  await things.add(
    TEXTS.map((text, index) => ({
      id: `t${index}`,
      name: text,
      createdAt: '2026-01-01T00:00:00.000Z',
      fields: { text, list: [text], deep: { text, list: [{ text }] }, keyed: { [text.replaceAll(/[$.]/g, '')]: 1 } },
    })),
  );
});
afterAll(() => things.close());

describe('hostile text', () => {
  it.each(TEXTS.map((text, index) => [text, index] as const))('is only itself: %.40j', async (text, index) => {
    const quoted = `^\\Q${text.replaceAll('\\E', '\\E\\\\E\\Q')}\\E$`;
    const wheres: object[] = [
      ...['name', 'text', 'list', 'deep.text', 'deep.list.text', 'deep.list.0.text'].flatMap((field) => [
        { [field]: text },
        { [field]: { $in: [text, `${text} not`] } },
        { [field]: { $all: [text] } },
        { [field]: { $gte: text, $lte: text } },
        ...(text.length > 256 ? [] : [{ [field]: { $regex: quoted } }]),
        { [field]: { $select: { key: 'text', query: { className: 'Thing', where: { text } } } } },
      ]),
      { list: [text] },
      { deep: { text, list: [{ text }] } },
      { keyed: { [text.replaceAll(/[$.]/g, '')]: 1 } },
      { 'deep.list': { $all: [{ text }] } },
    ];
    for (const where of wheres) expect([where, await things.find(where)]).toEqual([where, [`t${index}`]]);
  });

  it('is not accepted as class, id or grantee', async () => {
    for (const text of TEXTS) {
      expect(await things.find({ objectId: text })).toEqual([]);
      expect(await things.find({}, { scope: { appId: text } })).toEqual([]);
      expect(await things.find({}, { scope: { grantees: [text] } })).toHaveLength(TEXTS.length);
    }
  });

  it.each(KEYS)('is only a name within a value: %j', async (key) => {
    await things.add([{ id: 'k', fields: { named: { [key]: ['x'] } } }], 'things', `keys ${key}`);
    const scope = { appId: `keys ${key}` };
    expect(await things.find({ named: { [key]: ['x'] } }, { scope })).toEqual(['k']);
    expect(await things.find({ named: { $ne: { [key]: ['x'] } } }, { scope })).toEqual([]);
    expect(await things.find({ named: { $in: [{ [`${key}x`]: ['x'] }] } }, { scope })).toEqual([]);
  });
});

describe('a query at its bounds', () => {
  const many = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index));
  const nested = (depth: number, inner: object): object => (depth === 0 ? inner : { $or: [nested(depth - 1, inner)] });
  const inner = {
    className: 'Thing',
    where: { list: { $in: many(1_000, String) } },
    limit: 1_000,
    order: 'text,-deep.text',
  };

  it.each<[string, object, string]>([
    [
      'of long lists',
      many(100, (index) => ({ [`f${index}`]: { $nin: many(1_000, (value) => `value ${value}`) } })),
      '',
    ],
    ['of deep paths', many(100, (index) => ({ [`f${index}.b.c.d.e.f.g.h`]: { $ne: index } })), ''],
    ['of places in lists', many(100, (index) => ({ [`f${index}.0.1.2.3.4.5.6`]: { $ne: [index] } })), ''],
    [
      'of lists that are to be held',
      many(100, (index) => ({ [`f${index}`]: { $nin: [[index]], $exists: false } })).slice(0, 50),
      '',
    ],
    ['of nested alternatives', nested(8, { text: { $exists: true } }), ''],
    ['of sub-queries', many(5, (index) => ({ [`f${index}`]: { $notInQuery: inner } })), ''],
    ['of patterns', many(100, (index) => ({ text: { $regex: `^(?:.|\\n){0,${index}}` } })), ''],
    ['of sort keys', [{}], many(10, (index) => `${index % 2 === 0 ? '-' : ''}f${index}.a.b`).join(',')],
  ])('%s returns in time', async (_, where, order) => {
    expect(await things.find(where, { order })).toHaveLength(TEXTS.length);
  });
});
