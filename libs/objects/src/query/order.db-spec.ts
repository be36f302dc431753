import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testRun } from '#testing';
import { ThingTable } from '../../test/thing-table.js';

/** A database whose locale sorts a before B and ä next to a. */
async function newGermanDatabase(): Promise<string> {
  const { databaseUrl, database } = testRun();
  const name = `${database}_de_${randomBytes(4).toString('hex')}`;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'de' LOCALE 'C.UTF-8'`,
    );
  } finally {
    await client.end();
  }
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create(await newGermanDatabase());
});
afterAll(() => things.close());

describe('texts', () => {
  const texts = ['B', 'a', 'b', 'Ä', 'ä', 'z', 'Z', '~', '_', '😀', '\uffee', 'aa', 'a b', ''];
  const bytewise = [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

  beforeAll(async () => {
    await things.add(
      texts.map((text, index) => ({
        id: `t${index}`,
        name: text,
        createdAt: '2026-01-01T00:00:00Z',
        fields: { text, deep: { text } },
      })),
    );
  });

  const found = async (where: unknown, order: string) => {
    const ids = await things.find([where, { text: { $exists: true } }], { order });
    return ids.map((id) => texts[Number(id.slice(1))]);
  };

  it.each(['name', 'text', 'deep.text'])(
    "are sorted by bytes, independent of the database's locale: %s",
    async (field) => {
      expect(await found({}, field)).toEqual(bytewise);
      expect(await found({}, `-${field}`)).toEqual([...bytewise].reverse());
    },
  );

  it.each(['name', 'text', 'deep.text'])('are compared by bytes: %s', async (field) => {
    for (const text of texts) {
      const place = bytewise.indexOf(text);
      expect(await found({ [field]: { $lt: text } }, 'name')).toEqual(bytewise.slice(0, place));
      expect(await found({ [field]: { $gte: text } }, 'name')).toEqual(bytewise.slice(place));
    }
  });

  it.each(['name', 'text'])('are matched by locale only where case is ignored: %s', async (field) => {
    expect(await found({ [field]: { $regex: '^ä$', $options: 'i' } }, 'name')).toEqual(['Ä', 'ä']);
    expect(await found({ [field]: { $regex: '^ä$' } }, 'name')).toEqual(['ä']);
    expect(await found({ [field]: { $regex: '^[a-z]$' } }, 'name')).toEqual(['a', 'b', 'z']);
    expect(await found({ [field]: { $regex: '^\\w$' } }, 'name')).toEqual(['B', 'Z', '_', 'a', 'b', 'z']);
  });
});

describe('rows', () => {
  const scope = { appId: 'ordered' };
  const date = (iso: string) => ({ __type: 'Date', iso });
  const find = async (order: string, limit?: number) =>
    (await things.find({}, { order, scope, ...(limit === undefined ? {} : { limit }) })).join('');

  beforeAll(async () => {
    const createdAt = '2026-01-01T00:00:00.000Z';
    await things.add(
      [
        {
          id: 'a',
          createdAt,
          nickname: 'n',
          isOpen: true,
          fields: { value: 10, group: 1, at: date('2026-02-01T00:00:00.000Z') },
        },
        {
          id: 'b',
          createdAt,
          nickname: null,
          isOpen: false,
          fields: { value: 9, group: 1, at: date('2026-01-01T00:00:00.000Z') },
        },
        { id: 'c', createdAt, nickname: 'm', isOpen: null, fields: { value: -1.5, group: 2, list: [{ n: 2 }] } },
        { id: 'd', createdAt, nickname: '', isOpen: true, fields: { value: 'text', group: 2, list: [{ n: 1 }] } },
        { id: 'e', createdAt, nickname: null, isOpen: null, fields: { value: null, group: 2 } },
        { id: 'f', createdAt, nickname: 'z', isOpen: false, fields: {} },
        { id: 'g', createdAt: '2025-01-01T00:00:00.000Z', fields: { value: true, group: 1 } },
      ],
      'things',
      'ordered',
    );
  });

  it.each([
    ['', 'gabcdef'],
    ['createdAt', 'gabcdef'],
    ['-createdAt', 'fedcbag'],
    ['value', 'efcbadg'],
    ['-value', 'gdabcfe'],
    ['group,-value', 'fgabdce'],
    ['-group,value', 'ecdbagf'],
    ['at', 'cdefgba'],
    ['-at', 'abgfedc'],
    ['list.0.n,value', 'efbagdc'],
    ['nickname', 'beg'.concat('dcaf')],
    ['-nickname,-objectId', 'facdgeb'],
    ['isOpen', 'cegbfad'],
    ['unknown', 'abcdefg'],
    ['-objectId', 'gfedcba'],
  ])('by %j come as %s: unset values first, ties broken by the id', async (order, ids) => {
    expect(await find(order)).toBe(ids);
  });

  it('come in pages without overlaps and gaps', async () => {
    for (const order of ['', '-createdAt', 'group', '-value']) {
      const pages = await Promise.all([0, 2, 4, 6].map((skip) => things.find({}, { order, limit: 2, skip, scope })));
      expect(pages.flat().join('')).toBe(await find(order));
    }
  });
});
