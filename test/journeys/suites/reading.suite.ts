import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  createApplication,
  type GatepostServer,
  masterClient,
  signUp,
  type TestUser,
  unique,
} from '#testing';

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

    it('accepts the old names of the session header', async () => {
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

  describe.each(['/1.1/users/me', '/1.1/classes/_User/me'])('GET %s?session_token=', (path) => {
    let api: ApiClient;
    let user: TestUser;
    let other: TestUser;
    const asked = (token: string) => `${path}?session_token=${encodeURIComponent(token)}`;

    beforeAll(async () => {
      api = appClient(server());
      [user, other] = [await signUp(api), await signUp(api)];
    });

    it('returns the user of the token in the query, which beats the one in the header', async () => {
      for (const session of [undefined, other.session, 'unknown', user.session]) {
        const { status, headers, body } = await api.get(asked(user.session), { session });
        expect([status, body]).toEqual([200, user.body]);
        expect(headers.get('cache-control')).toBe('no-cache,no-store');
      }
    });

    it('is what the SDK of Python sends to become a user, and that of PHP to ask whether a session is good', async () => {
      const { app } = server();
      const now = String(Date.now());
      const sign = `${createHash('md5').update(`${now}${app.appKey}`).digest('hex')},${now}`;
      const python = { 'x-avoscloud-application-id': app.id, 'x-avoscloud-request-sign': sign };
      const php = { 'x-lc-id': app.id, 'x-lc-sign': sign, 'x-lc-session': other.session };
      for (const headers of [python, php]) {
        expect((await api.as(headers).get(asked(user.session))).body).toEqual(user.body);
        expect((await api.as(headers).get(asked('notoken'))).body).toEqual(NOT_FOUND);
      }
    });

    it('works in a batch, and in the text/plain form', async () => {
      const entries = [{ path: asked(user.session) }, { path, params: { session_token: user.session } }];
      const requests = entries.map((entry) => ({ method: 'GET', ...entry }));
      const batch = await fetch(`${server().baseUrls[0] ?? ''}/1.1/batch`, {
        method: 'POST',
        headers: { 'x-lc-id': server().app.id, 'x-lc-key': server().app.appKey, 'x-lc-session': other.session },
        body: JSON.stringify({ requests }),
      });
      expect(await batch.json()).toEqual([{ success: user.body }, { success: user.body }]);

      const { id, appKey } = server().app;
      const form = { _method: 'GET', _ApplicationId: id, _ApplicationKey: appKey, _SessionToken: other.session };
      const headers = { 'content-type': 'text/plain' };
      const anonymous = api.as({});
      for (const [url, body] of [
        [asked(user.session), form],
        [path, { ...form, session_token: user.session }],
      ] as const)
        expect((await anonymous.post(url, body, { headers })).body).toEqual(user.body);
    });

    it.each(['', '%20', 'unknown', 'x'.repeat(129), 'x'.repeat(8_000), '%00', "'%20OR%201=1--"])(
      'answers 211 to the token "%.20s", whatever the header holds',
      async (token) => {
        const { status, body } = await api.get(`${path}?session_token=${token}`, { session: user.session });
        expect([status, body]).toEqual([400, NOT_FOUND]);
      },
    );

    it.each(['session_token=A&session_token=A', 'session_token[]=A', 'session_token[$ne]=A'])(
      'takes %s for no token of its user',
      async (query) => {
        const { body } = await api.get(`${path}?${query.replaceAll('A', user.session)}`, { session: other.session });
        expect(body['objectId']).not.toBe(user.id);
      },
    );

    it('does not know the token in another application, or in place of a key', async () => {
      const elsewhere = await createApplication(server());
      const client = ApiClient.forApp(server().baseUrls[0] ?? '', elsewhere);
      expect((await client.get(asked(user.session))).body).toEqual(NOT_FOUND);
      expect((await api.as({}).get(asked(user.session))).status).toBe(401);
    });
  });

  describe('session_token in the query of other paths', () => {
    it('means nothing', async () => {
      const api = appClient(server());
      const user = await signUp(api, { ACL: {} });
      await api.put(
        `/1.1/users/${user.id}`,
        { ACL: { [unique('role').replace('-', '')]: {} } },
        { session: user.session },
      );
      const query = `?session_token=${user.session}`;
      const answers = [
        await api.get(`/1.1/users/${user.id}${query}`),
        await api.put(`/1.1/users/${user.id}${query}`, { color: 'red' }),
        await api.put(`/1.1/users/${user.id}/refreshSessionToken${query}`),
        await api.delete(`/1.1/users/${user.id}${query}`),
      ];
      expect(answers.map(({ body }) => body['code'])).toEqual([211, 206, 206, 206]);
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
