import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  conditionOf,
  jsonOf,
  type Kind,
  OPERATORS,
  type Operator,
  type Row,
  rowWith,
  whereOf,
} from './condition.rules';

const FIELDS = { deviceType: 'text', channels: 'list', createdAt: 'time' } as const;
const row = (field: string, operator: Operator, kind: Kind, text = ''): Row => ({ field, operator, kind, text });

describe('the rows of a condition', () => {
  it.each<[string, readonly Row[], object]>([
    ['no row', [], {}],
    [
      'two fields',
      [row('deviceType', 'is', 'text', 'android'), row('channels', 'in', 'list', 'news, sport')],
      { deviceType: 'android', channels: { $in: ['news', 'sport'] } },
    ],
    [
      'a range',
      [row('level', 'atLeast', 'number', '3'), row('level', 'less', 'number', '7.5')],
      { level: { $gte: 3, $lt: 7.5 } },
    ],
    [
      'one field twice',
      [row('channels', 'is', 'list', 'news'), row('channels', 'is', 'list', 'sport')],
      { channels: 'news', $and: [{ channels: 'sport' }] },
    ],
    [
      'a beginning, a flag, and what is set',
      [
        row('name.first', 'startsWith', 'text', 'A.'),
        row('vip', 'isNot', 'flag', 'false'),
        row('age', 'isMissing', 'text'),
      ],
      { 'name.first': { $regex: String.raw`^\QA.\E` }, vip: { $ne: false }, age: { $exists: false } },
    ],
    [
      'a time',
      [row('createdAt', 'greater', 'time', '2026-03-01T09:00:00.000Z')],
      { createdAt: { $gt: { __type: 'Date', iso: '2026-03-01T09:00:00.000Z' } } },
    ],
  ])('are a where, and the where is the rows: %s', (_, rows, where) => {
    expect(whereOf({ rows })).toEqual(where);
    expect(conditionOf(JSON.stringify(where), FIELDS)).toEqual({ rows });
  });

  it.each([
    row('', 'is', 'text', 'android'),
    row('$or', 'is', 'text', 'android'),
    row('deviceType', 'is', 'text'),
    row('deviceType', 'in', 'text', ' , '),
    row('level', 'is', 'number', 'three'),
    row('vip', 'is', 'flag'),
  ])('are no where while one is not complete: %j', (incomplete) => {
    expect(whereOf({ rows: [row('level', 'is', 'number', '3'), incomplete] })).toBeUndefined();
    expect(JSON.parse(jsonOf({ rows: [row('level', 'is', 'number', '3'), incomplete] }))).toEqual({ level: 3 });
  });

  it('come back from their where', () => {
    fc.assert(
      fc.property(fc.array(anyRow()), (rows) => {
        const where = whereOf({ rows });
        const { rows: again, json } = conditionOf(JSON.stringify(where), FIELDS);
        expect(json).toBeUndefined();
        expect(sorted(again)).toEqual(sorted(rows));
        expect(whereOf({ rows: again })).toEqual(where);
      }),
    );
  });

  it('keep what fits a new field', () => {
    const typed = row('level', 'greater', 'number', '3');
    expect(rowWith(typed, { field: 'age' }, FIELDS)).toEqual({ ...typed, field: 'age' });
    expect(rowWith(typed, { field: 'createdAt' }, FIELDS)).toEqual(row('createdAt', 'greater', 'time'));
    expect(rowWith(typed, { field: 'channels' }, FIELDS)).toEqual(row('channels', 'is', 'list'));
    expect(rowWith(typed, { kind: 'flag' }, FIELDS)).toEqual(row('level', 'is', 'flag'));
  });
});

describe('a JSON condition', () => {
  it.each([
    '{"$or":[{"level":1},{"level":2}]}',
    '{"$and":[{"$or":[{"level":1}]}]}',
    '{"$and":[{"level":1}]}',
    '{"level":{"$nin":[1]}}',
    '{"level":{"$in":[1,"1"]}}',
    '{"level":{"$in":[]}}',
    '{"level":{"$gt":"3"}}',
    '{"level":null}',
    '{"name":""}',
    '{"name":{"$in":["one, two"]}}',
    '{"name":{"$regex":"^A"}}',
    String.raw`{"name":{"$regex":"^\\QA\\E","$options":"i"}}`,
    '{"home":{"__type":"GeoPoint","latitude":1,"longitude":2}}',
    '{"at":{"$gt":{"__type":"Date","iso":"2026-03-01T09:00:00.000Z","more":1}}}',
    '{"level":12345678901234567890}',
    '[{"level":1}]',
    '{"level":',
  ])('that rows cannot say stays as it is: %s', (json) => {
    expect(conditionOf(json, FIELDS)).toEqual({ rows: [], json });
  });

  it('is said by rows without a loss, or stays', () => {
    fc.assert(
      fc.property(
        fc.object({ key: fc.constantFrom('level', '$and', '$gt', '$in', '$ne', '__type', 'iso') }),
        (where) => {
          const text = JSON.stringify(where);
          const condition = conditionOf(text, FIELDS);
          expect(condition.json ?? JSON.stringify(whereOf(condition))).toBe(text);
        },
      ),
    );
  });
});

function anyRow(): fc.Arbitrary<Row> {
  const texts: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
    text: fc.string({ minLength: 1 }),
    list: fc.string({ minLength: 1 }),
    number: fc.double({ noNaN: true, min: -1e15, max: 1e15 }).map(String),
    flag: fc.boolean().map(String),
    time: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  };
  const names: Readonly<Record<Kind, readonly string[]>> = {
    text: ['deviceType', 'name', 'name.first', 'constructor'],
    list: ['channels'],
    number: ['level', 'age'],
    flag: ['vip'],
    time: ['createdAt', 'seen'],
  };
  return fc
    .constantFrom<Kind>('text', 'list', 'number', 'flag', 'time')
    .chain((kind) =>
      fc.record({
        kind: fc.constant(kind),
        field: fc.constantFrom(...names[kind]),
        operator: fc.constantFrom(...OPERATORS[kind]),
        text: texts[kind],
      }),
    )
    .map(plain);
}

/** The row as the rules read it: several values without blanks and commas, presence without a value and without an own kind. */
function plain({ field, kind, operator, text }: Row): Row {
  if (operator === 'in') return { field, kind, operator, text: `${text.replaceAll(/[\s,]/g, '') || '1'}, 1` };
  if (operator !== 'exists' && operator !== 'isMissing') return { field, kind, operator, text };
  return { field, kind: field in FIELDS ? kind : 'text', operator, text: '' };
}

function sorted(rows: readonly Row[]): readonly string[] {
  return rows.map(({ field, operator, kind, text }) => JSON.stringify([field, operator, kind, text])).sort();
}
