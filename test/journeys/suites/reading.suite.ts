import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, masterClient, signUp, type TestUser, unique } from '#testing';

const NOT_FOUND = { code: 211, error: 'Could not find user.' };

/** Specification, GET /1.1/users/<objectId> and GET /1.1/users/me. */
export function describeReading(server: () => GatepostServer): void {
  describe.each(['/1.1/users', '/1.1/classes/_User'])('GET %s/<objectId>', (path) => {
    let api: ApiClient;
    let user: TestUser;

    beforeAll(async () => {
      api = appClient(server());
      user = await signUp(api, { email: `${unique('get')}@example.com`, color: 'red', size: 3 });
    });

    it('returns the user without its session token, to anybody with the application key', async () => {
      const { status, headers, body } = await api.get(`${path}/${user.id}`);
      const { sessionToken: _, ...visible } = user.body;
      expect([status, body]).toEqual([200, visible]);
      expect(new Date(headers.get('last-modified') ?? '').getTime()).toBeLessThanOrEqual(
        Date.parse(String(body['updatedAt'])),
      );
    });

    it('shows only the wanted keys', async () => {
      const keysOf = async (keys: string) =>
        Object.keys((await api.get(`${path}/${user.id}?keys=${keys}`)).body).sort();
      const always = ['createdAt', 'objectId', 'updatedAt'];
      expect(await keysOf('color')).toEqual(['color', ...always].sort());
      expect(await keysOf('color,username')).toEqual(['color', 'username', ...always].sort());
      expect(await keysOf('-color,-email')).not.toContain('color');
      expect(await keysOf('-color,-email')).toContain('size');
      expect(await keysOf('password,sessionToken')).toEqual(always);
    });

    it.each(['000000000000000000000000', 'x', 'A'.repeat(64), '%00', 'a%27%20OR%201=1', '__proto__', 'me%00'])(
      'answers 211 to the id %s',
      async (id) => {
        const { status, body } = await api.get(`${path}/${id}`);
        expect([status, body]).toEqual([400, NOT_FOUND]);
      },
    );

    it('refuses a parameter that is given twice', async () => {
      const { status, body } = await api.get(`${path}/${user.id}?keys=color&keys=size`);
      expect([status, body['code']]).toEqual([400, 102]);
    });

    it('answers 4xx to an id of 10 kB', async () => {
      const { status } = await api.get(`${path}/${'a'.repeat(10_000)}`);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    });
  });

  describe('GET /1.1/users/me', () => {
    it('returns the user of the token, with the token', async () => {
      const api = appClient(server());
      const user = await signUp(api, { color: 'red' });
      const { status, body } = await api.get('/1.1/users/me', { session: user.session });
      expect([status, body]).toEqual([200, user.body]);
    });

    it('knows the old names of the session header', async () => {
      const api = appClient(server());
      const user = await signUp(api);
      for (const name of ['x-avoscloud-session-token', 'x-uluru-session-token']) {
        expect((await api.get('/1.1/users/me', { headers: { [name]: user.session } })).body['objectId']).toBe(user.id);
      }
    });

    it.each(['', 'unknown', 'a'.repeat(25), 'x'.repeat(10_000), "' OR 1=1 --", 'undefined', 'null'])(
      'answers 211 to the token "%.30s"',
      async (session) => {
        const { status, body } = await appClient(server()).get('/1.1/users/me', { session });
        expect([status, body]).toEqual([400, NOT_FOUND]);
      },
    );

    it('does not know the token of another application', async () => {
      const user = await signUp(appClient(server()));
      const [one, two] = [user.session, user.session.split('').reverse().join('')];
      expect(one).not.toBe(two);
      expect((await appClient(server()).get('/1.1/users/me', { session: two })).body).toEqual(NOT_FOUND);
    });
  });

  describe('an ACL (specification, Access control list)', () => {
    it('hides the object from everyone it does not grant to read', async () => {
      const api = appClient(server());
      const friend = await signUp(api);
      const user = await signUp(api);
      const acl = { [user.id]: { read: true, write: true }, [friend.id]: { read: true } };
      await api.put(`/1.1/users/${user.id}`, { ACL: acl }, { session: user.session });
      const codeFor = async (client: ApiClient, session?: string) =>
        (await client.get(`/1.1/users/${user.id}`, session === undefined ? {} : { session })).body['code'];
      expect(await codeFor(api)).toBe(211);
      expect(await codeFor(api, 'unknown')).toBe(211);
      expect(await codeFor(api, (await signUp(api)).session)).toBe(211);
      expect(await codeFor(api, friend.session)).toBeUndefined();
      expect(await codeFor(api, user.session)).toBeUndefined();
      expect(await codeFor(masterClient(server()))).toBeUndefined();
    });

    it('is shown to others with returnACL only', async () => {
      const api = appClient(server());
      const user = await signUp(api, { ACL: { '*': { read: true } } });
      const aclSeen = async (query: string, session?: string) =>
        (await api.get(`/1.1/users/${user.id}${query}`, session === undefined ? {} : { session })).body['ACL'];
      expect(await aclSeen('')).toBeUndefined();
      expect(await aclSeen('?returnACL=true')).toEqual({ '*': { read: true } });
      expect(await aclSeen('', user.session)).toEqual({ '*': { read: true } });
    });
  });
}
