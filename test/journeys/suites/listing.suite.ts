import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  type TestUser,
  unique,
} from '#testing';

/** Specification, GET /1.1/users. */
export function describeListing(server: () => GatepostServer): void {
  describe.each(['/1.1/users', '/1.1/classes/_User'])('GET %s', (path) => {
    const group = unique('group');
    let master: ApiClient;
    let users: TestUser[];
    const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    const query = (parameters: Record<string, unknown>) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(parameters)) search.append(name, text(value));
      return master.get(`${path}?${search.toString()}`);
    };
    const rows = async (parameters: Record<string, unknown>) => (await query(parameters)).body['results'] as Json[];
    const names = async (parameters: Record<string, unknown>) =>
      (await rows({ order: 'createdAt', ...parameters })).map((row) => row['name']);

    beforeAll(async () => {
      master = masterClient(server());
      users = [];
      const fields = [
        { name: 'a', age: 30, tags: ['x', 'y'], address: { city: 'Paris' } },
        { name: 'b', age: 7, tags: ['y'], address: { city: 'Rome', zip: 1 } },
        { name: 'c', age: 9, email: `${group}@example.com` },
        { name: 'd', nothing: null },
      ];
      for (const each of fields) users.push(await signUp(appClient(server()), { group, ...each }));
    });

    it('lists users with the master key, without session tokens', async () => {
      const found = await rows({ where: { group } });
      expect(found).toHaveLength(4);
      expect(JSON.stringify(found)).not.toMatch(/sessionToken|password/);
      expect(found[0]).toMatchObject({
        username: users[0]!.username,
        name: 'a',
        emailVerified: null,
        mobilePhoneVerified: false,
      });
    });

    it('is closed to the application key, but a session finds its own user alone', async () => {
      const closed = { code: 403, error: "Forbidden to find by class '_User' permissions." };
      const { status, body } = await appClient(server()).get(path);
      expect([status, body]).toEqual([403, closed]);
      const { session, ...own } = users[0]!;
      const find = async (where: Json) =>
        (
          await appClient(server()).get(`${path}?count=1&where=${encodeURIComponent(JSON.stringify(where))}`, {
            session,
          })
        ).body;
      for (const where of [{}, { objectId: own.id }, { $or: [{ group }, { level: { $exists: false } }] }])
        expect(await find(where)).toMatchObject({ count: 1, results: [{ objectId: own.id }] });
      for (const where of [{ objectId: users[1]!.id }, { username: { $ne: own.username } }])
        expect(await find(where)).toEqual({ count: 0, results: [] });
    });

    it.each<[unknown, string[]]>([
      [{ name: 'b' }, ['b']],
      [{ age: 7 }, ['b']],
      [{ age: '7' }, []],
      [{ tags: 'y' }, ['a', 'b']],
      [{ tags: ['x', 'y'] }, ['a']],
      [{ tags: ['y', 'x'] }, []],
      [{ address: { city: 'Paris' } }, ['a']],
      [{ address: { city: 'Rome' } }, []],
      [{ nothing: null }, ['a', 'b', 'c', 'd']],
      [{ email: null }, ['a', 'b', 'd']],
      [{ mobilePhoneVerified: false, name: 'c' }, ['c']],
      [{ mobilePhoneVerified: 'false' }, []],
      [{ username: 7 }, []],
      [{ createdAt: 'not a date' }, []],
    ])('finds by equality: %j', async (where, expected) => {
      expect(await names({ where: { group, ...(where as object) } })).toEqual(expected);
    });

    it('finds by username, e-mail address, id and time', async () => {
      const third = users[2]!;
      expect(await names({ where: { username: third.username } })).toEqual(['c']);
      expect(await names({ where: { email: `${group}@example.com` } })).toEqual(['c']);
      expect(await names({ where: { objectId: third.id } })).toEqual(['c']);
      expect(await names({ where: { group, createdAt: { __type: 'Date', iso: third.body['createdAt'] } } })).toContain(
        'c',
      );
    });

    it('orders, limits, skips and counts', async () => {
      const where = { group };
      expect(await names({ where, order: 'name' })).toEqual(['a', 'b', 'c', 'd']);
      expect(await names({ where, order: '-name' })).toEqual(['d', 'c', 'b', 'a']);
      expect(await names({ where: { group, tags: 'y' }, order: 'age' })).toEqual(['b', 'a']);
      expect(await names({ where, order: '-createdAt', limit: 2 })).toEqual(['d', 'c']);
      expect(await names({ where, order: 'name', limit: 2, skip: 1 })).toEqual(['b', 'c']);
      expect((await query({ where, count: 1, limit: 0 })).body).toEqual({ results: [], count: 4 });
      expect((await query({ where, count: 1, limit: 1 })).body['count']).toBe(4);
      expect((await query({ where })).body['count']).toBeUndefined();
    });

    it('reads a limit out of bounds as the default', async () => {
      for (const limit of ['-1', '1001', 'x', '1.5', ''])
        expect(await names({ where: { group }, limit })).toHaveLength(4);
    });

    it('shows only the wanted keys', async () => {
      const [row] = await rows({ where: { group, name: 'a' }, keys: 'name,age' });
      expect(Object.keys(row ?? {}).sort()).toEqual(['age', 'createdAt', 'name', 'objectId', 'updatedAt']);
    });

    const refused: [string, Record<string, unknown>, number][] = [
      ['an unknown operator', { where: { age: { $where: 'true' } } }, 102],
      ['an unknown operator at the top', { where: { $where: 'sleep(1)' } }, 102],
      ['a where that is no JSON', { where: '{name' }, 102],
      ['a where that is a list', { where: [1] }, 102],
      ['a where that is a string', { where: '"x"' }, 102],
      ['a key with a quote', { where: { "name'": 1 } }, 105],
      ['a key with SQL', { where: { 'a) OR 1=1 --': 1 } }, 105],
      ['__proto__ as a key', { where: '{"__proto__": {"admin": true}}' }, 102],
      ['an order by SQL', { order: 'name; DROP TABLE users' }, 105],
      ['a NUL byte in a value', { where: { name: 'a\0' } }, 102],
      ['half of a surrogate pair in a value', { where: { name: 'a\ud800' } }, 102],
      ['a negative skip', { skip: '-1' }, 102],
      ['a skip that is no number', { skip: 'one' }, 102],
      ['too many sort keys', { order: Array.from({ length: 11 }, (_, index) => `k${index}`).join(',') }, 102],
    ];
    it.each(refused)('refuses %s', async (_, parameters, code) => {
      const { status, body } = await query(parameters);
      expect([status, body['code']]).toEqual([400, code]);
    });

    it.each(['password', 'salt', 'sessionToken', 'authData', 'ACL'])(
      'does not let %s be queried or ordered by',
      async (field) => {
        for (const parameters of [{ where: { [field]: 'x' } }, { where: { [field]: null } }, { order: field }]) {
          const { status, body } = await query(parameters);
          expect([status, body['code']]).toEqual([400, 102]);
        }
      },
    );

    it('finds by values that look like SQL or JSON paths without harm', async () => {
      for (const value of ["'; DROP TABLE accounts.users; --", '$1', '%', '{"a":1}', '\\', '"']) {
        expect(await names({ where: { group, name: value } })).toEqual([]);
      }
      expect(await names({ where: { group } })).toHaveLength(4);
    });

    it('refuses a parameter that is given twice', async () => {
      const { status, body } = await master.get(`${path}?limit=1&where={}&where={}`);
      expect([status, body['code']]).toEqual([400, 102]);
    });
  });
}
