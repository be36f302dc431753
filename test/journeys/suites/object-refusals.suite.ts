import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, masterClient, signUp, unique } from '#testing';

const PUBLIC = { '*': { read: true } };
const MEBIBYTE = 1_048_576;
/** The longest answer, in objects of nearly a mebibyte (docs/api.md). */
const TOO_MANY_LARGE_OBJECTS = 13;

const list = (length: number, value: (index: number) => string) => Array.from({ length }, (_, index) => value(index));
const where = (condition: unknown) => `where=${encodeURIComponent(JSON.stringify(condition))}`;
const roleName = () => unique('role').replace('-', '_');

/** The common refusals of users, roles and installations, in conditions, parameters and fields. */
export function describeObjectRefusals(server: () => GatepostServer): void {
  describe.each<[string, string, (api: ApiClient) => Promise<{ id: string }>]>([
    ['/1.1/users', '_User', signUp],
    ['/1.1/roles', '_Role', newRole],
    ['/1.1/installations', '_Installation', newInstallation],
  ])('what %s refuses', (path, className, create) => {
    const scan = `/1.1/scan/classes/${className}`;
    let api: ApiClient;
    let master: ApiClient;
    let id: string;
    beforeAll(async () => {
      [api, master] = [appClient(server()), masterClient(server())];
      ({ id } = await create(api));
    });
    const state = async () => (await master.get(`${path}/${id}`)).body;

    const conditions: [string, string, number, number][] = [
      ['no JSON', 'where={', 400, 102],
      ['a name that is none', where({ "a'": 1 }), 400, 105],
      ['a pointer without an id', where({ owner: { __type: 'Pointer' } }), 400, 106],
      [
        'a place off the earth',
        where({ place: { $nearSphere: { __type: 'GeoPoint', latitude: 91, longitude: 0 } } }),
        400,
        302,
      ],
      ['a class that does not exist', where({ owner: { $inQuery: { className: 'Unknown', where: {} } } }), 404, 101],
    ];
    it.each(conditions)('a condition that is %s, wherever there are conditions', async (_, condition, status, code) => {
      const before = await state();
      for (const reply of [
        await master.get(`${path}?${condition}`),
        await master.get(`${scan}?${condition}`),
        await master.put(`${path}/${id}?${condition}`, { color: 'blue' }),
        await master.delete(`${path}/${id}?${condition}`),
      ]) {
        expect([reply.status, reply.body['code']]).toEqual([status, code]);
      }
      expect(await state()).toEqual(before);
    });

    it('a change and a deletion of what does not meet their condition', async () => {
      const before = await state();
      for (const reply of [
        await master.put(`${path}/${id}?${where({ color: 'green' })}`, { color: 'blue' }),
        await master.delete(`${path}/${id}?${where({ color: 'green' })}`),
      ]) {
        expect([reply.status, reply.body['code']]).toEqual([400, 305]);
      }
      expect(await state()).toEqual(before);
    });

    const parameters: [string, string, number][] = [
      ['more than 100 keys', `keys=${list(101, (index) => `k${index}`).join(',')}`, 111],
      ['a key of 300 letters', `keys=${'k'.repeat(300)}`, 111],
      ['an include of 1,025 letters', `include=${'a'.repeat(1_025)}`, 111],
      ['an include that names no field', "include=a'b", 105],
      ['keys that are given twice', 'keys=a&keys=b', 102],
    ];
    it.each(parameters)('%s, of one object and of many', async (_, parameter, code) => {
      const read = [path, `${path}/${id}`, ...(parameter.startsWith('keys') ? [scan] : [])];
      for (const each of read) {
        const { status, body } = await master.get(`${each}?${parameter}`);
        expect([status, body['code']]).toEqual([400, code]);
      }
    });

    const fields: [string, unknown, number][] = [
      ['a pointer without an id', { owner: { __type: 'Pointer' } }, 106],
      ['a nested name with $', { a: { $x: 1 } }, 121],
      ['an ACL that is text', { ACL: 'public' }, 123],
      ['an operation on a relation without pointers', { users: { __op: 'AddRelation', objects: [] } }, 128],
    ];
    it.each(fields)('%s', async (_, changes, code) => {
      const before = await state();
      const { status, body } = await master.put(`${path}/${id}`, changes);
      expect([status, body['code']]).toEqual([400, code]);
      expect(await state()).toEqual(before);
    });

    it('fields that are small on their way, and over the limit when they are written out', async () => {
      const numbers = `[${list(100_000, () => '1e20').join(',')}]`;
      const { status, body } = await master.put(`${path}/${id}`, `{"numbers": ${numbers}}`);
      expect([status, body['code']]).toEqual([400, 116]);
    });
  });

  it('roles refuse another name, no ACL, and a new role over the limit', async () => {
    const master = masterClient(server());
    const { id } = await newRole(master);
    const codeOf = async (changes: unknown) => (await master.put(`/1.1/roles/${id}`, changes)).body['code'];
    expect([await codeOf({ name: 'not a name!' }), await codeOf({ ACL: null })]).toEqual([139, 1]);
    const numbers = list(100_000, () => '1e20').join(',');
    const { body } = await master.post('/1.1/roles', `{"name":"${roleName()}","ACL":{},"numbers":[${numbers}]}`);
    expect(body['code']).toBe(116);
  });

  it('an answer over 12 MiB is refused, and fewer objects are shown', async () => {
    const group = unique('large');
    for (let count = 0; count < TOO_MANY_LARGE_OBJECTS; count += 1)
      await signUp(appClient(server()), { group, filling: 'x'.repeat(MEBIBYTE - 1_000) });
    const find = (query: string) => masterClient(server()).get(`/1.1/users?${where({ group })}${query}`);
    const { status, body } = await find('');
    expect([status, body['code'], body['error']]).toEqual([
      400,
      116,
      expect.stringMatching(/^The answer is too large/),
    ]);
    expect((await find('&limit=2')).body['results']).toHaveLength(2);
    const { results } = (await find('&keys=username')).body as { results: { objectId: string }[] };
    expect(results).toHaveLength(TOO_MANY_LARGE_OBJECTS);
    const large = { __type: 'Pointer', className: '_User', objectId: results[0]!.objectId };
    const user = await signUp(appClient(server()), {
      friends: Array.from({ length: TOO_MANY_LARGE_OBJECTS }, () => large),
    });
    const included = await masterClient(server()).get(`/1.1/users/${user.id}?include=friends`);
    expect([included.status, included.body['code'], included.body['error']]).toEqual([
      400,
      116,
      expect.stringMatching(/^The objects are too large in total/),
    ]);
  });
}

async function newRole(api: ApiClient): Promise<{ id: string }> {
  const { status, body } = await api.post('/1.1/roles', { name: roleName(), ACL: PUBLIC });
  expect(status).toBe(201);
  return { id: String(body['objectId']) };
}

async function newInstallation(api: ApiClient): Promise<{ id: string }> {
  const { status, body } = await api.post('/1.1/installations', { installationId: unique('device') });
  expect(status).toBe(201);
  return { id: String(body['objectId']) };
}
