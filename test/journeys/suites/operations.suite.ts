import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, type Json, signUp, type TestUser, unique } from '#testing';

const op = (name: string, rest: Json = {}): Json => ({ __op: name, ...rest });
const pointer = { __type: 'Pointer', className: 'Post', objectId: 'p1' };
const date = { __type: 'Date', iso: '2026-01-02T00:00:00.000Z' };

/** Update operations of custom fields, over HTTP. */
export function describeUpdateOperations(server: () => GatepostServer): void {
  describe.each(['/1.1/users', '/1.1/classes/_User'])('operations in PUT %s/<objectId>', (path) => {
    let api: ApiClient;
    beforeAll(() => {
      api = appClient(server());
    });
    const put = (user: TestUser, body: Json, query = '') =>
      api.put(`${path}/${user.id}${query}`, body, { session: user.session });
    const read = async (user: TestUser) => (await api.get(`${path}/${user.id}`, { session: user.session })).body;

    it.each<[string, Json, Json, unknown]>([
      ['Increment on nothing', {}, op('Increment', { amount: 2 }), 2],
      ['Increment', { field: 1 }, op('Increment', { amount: 0.5 }), 1.5],
      ['Decrement', { field: 1 }, op('Decrement', { amount: 3 }), -2],
      ['Add on nothing', {}, op('Add', { objects: [1, 1] }), [1, 1]],
      ['Add', { field: ['a'] }, op('Add', { objects: ['a', { b: null }] }), ['a', 'a', { b: null }]],
      ['AddUnique', { field: ['a'] }, op('AddUnique', { objects: ['a', 'b', 'b'] }), ['a', 'b']],
      [
        'AddUnique of what is written differently',
        { field: [pointer, date, { x: 1, y: [2] }] },
        op('AddUnique', {
          objects: [
            { ...pointer, __type: 'Object', title: 'x' },
            { ...date, iso: '2026-01-02T08:00+08:00' },
            { y: [2], x: 1 },
          ],
        }),
        [pointer, date, { x: 1, y: [2] }],
      ],
      ['Remove', { field: ['a', 'b', 'a'] }, op('Remove', { objects: ['a', 'c'] }), ['b']],
      ['Remove on nothing', {}, op('Remove', { objects: ['a'] }), undefined],
      ['Delete', { field: 'x' }, op('Delete'), undefined],
      ['BitAnd on nothing', {}, op('BitAnd', { value: 6 }), 0],
      ['BitAnd', { field: 3 }, op('BitAnd', { value: 6 }), 2],
      ['BitOr on nothing', {}, op('BitOr', { value: 6 }), 6],
      ['BitOr', { field: 3 }, op('BitOr', { value: 6 }), 7],
      ['BitXor on nothing', {}, op('BitXor', { value: 6 }), 6],
      ['BitXor', { field: 3 }, op('BitXor', { value: 6 }), 5],
      [
        'Batch',
        { field: ['a', 'b'] },
        op('Batch', { ops: [op('Remove', { objects: ['a'] }), op('AddUnique', { objects: ['b', 'c'] })] }),
        ['b', 'c'],
      ],
    ])('%s', async (_, before, operation, after) => {
      const user = await signUp(api, { ...before, other: 'kept' });
      const { status, body } = await put(user, { field: operation }, '?new=true');
      expect([status, body['field'], body['other']]).toEqual([200, after, undefined]);
      const stored = await read(user);
      expect([stored['field'], stored['other']]).toEqual([after, 'kept']);
    });

    it('changes what a path names, and answers the whole field', async () => {
      const user = await signUp(api, { address: { city: 'Ulm', zip: 89073 }, list: [{ n: 1 }] });
      const { status, body } = await put(
        user,
        {
          'address.city': 'Bonn',
          'address.zip': op('Delete'),
          'stats.wins': op('Increment', { amount: 1 }),
          'list.0.n': op('Increment', { amount: 1 }),
        },
        '?fetchWhenSave=true',
      );
      const changed = { address: { city: 'Bonn' }, stats: { wins: 1 }, list: [{ n: 2 }] };
      expect([status, body]).toEqual([200, { ...changed, objectId: user.id, updatedAt: body['updatedAt'] }]);
      expect(await read(user)).toMatchObject(changed);
    });

    it.each<[string, Json, number]>([
      ['Increment on a text', { text: op('Increment', { amount: 1 }) }, 111],
      ['Increment by a text', { number: op('Increment', { amount: '1' }) }, 111],
      ['Increment beyond exact integers', { number: op('Increment', { amount: Number.MAX_SAFE_INTEGER }) }, 111],
      ['Decrement on null', { nothing: op('Decrement', { amount: 1 }) }, 111],
      ['Add on a number', { number: op('Add', { objects: [1] }) }, 111],
      ['Add without a list', { list: op('Add', { objects: 'x' }) }, 111],
      ['AddUnique on an object', { object: op('AddUnique', { objects: [1] }) }, 111],
      ['AddUnique of what cannot be stored', { list: op('AddUnique', { objects: [{ 'a.b': 1 }] }) }, 121],
      ['Remove on a text', { text: op('Remove', { objects: ['t'] }) }, 111],
      ['BitOr on a fraction', { fraction: op('BitOr', { value: 1 }) }, 111],
      ['BitAnd with a text', { number: op('BitAnd', { value: '1' }) }, 111],
      [
        'a Batch whose second half does not fit',
        { list: op('Batch', { ops: [op('Add', { objects: [9] }), op('BitOr', { value: 1 })] }) },
        111,
      ],
      ['a Batch without operations', { list: op('Batch', { ops: [] }) }, 111],
      ['a path into a text', { 'text.a': 1 }, 111],
      ['a path into a date', { 'date.iso': 'x' }, 111],
      ['a path to an element that is not there', { 'list.7': 1 }, 111],
      ['Delete of an element', { 'list.0': op('Delete') }, 111],
      ['a relation', { list: op('RemoveRelation', { objects: [pointer] }) }, 111],
      ['an unknown operation', { number: op('Multiply', { amount: 2 }) }, 111],
    ])('refuses %s, and changes nothing', async (_, change, code) => {
      const user = await signUp(api, {
        text: 't',
        number: 1,
        fraction: 1.5,
        list: [1],
        object: {},
        nothing: null,
        date,
      });
      const before = await read(user);
      const { status, body } = await put(user, { first: 1, ...change, last: op('Increment', { amount: 1 }) });
      expect([status, body['code']]).toEqual([400, code]);
      expect(await read(user)).toEqual(before);
    });
  });

  it('lets a sign-up use operations too', async () => {
    const { status, body } = await appClient(server()).post('/1.1/users', {
      username: unique('operating'),
      password: 'p',
      score: op('Increment', { amount: 3 }),
      tags: op('AddUnique', { objects: ['a', 'a'] }),
      'address.city': 'Ulm',
      gone: op('Delete'),
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ score: 3, tags: ['a'], address: { city: 'Ulm' } });
    expect(body).not.toHaveProperty('gone');
  });
}
