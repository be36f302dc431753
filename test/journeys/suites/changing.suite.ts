import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  type GatepostServer,
  masterClient,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';

const SESSION_REQUIRED = { code: 206, error: 'The user cannot be altered by a client without the session.' };

/** Specification, PUT and DELETE /1.1/users/<objectId>, updatePassword, refreshSessionToken. */
export function describeChanging(server: () => GatepostServer): void {
  let api: ApiClient;
  let master: ApiClient;
  beforeAll(() => {
    [api, master] = [appClient(server()), masterClient(server())];
  });
  const read = async (user: TestUser) => (await api.get(`/1.1/users/${user.id}`)).body;

  describe.each(['/1.1/users', '/1.1/classes/_User'])('PUT %s/<objectId>', (path) => {
    const put = (user: TestUser, body: unknown, session?: string, query = '') =>
      api.put(`${path}/${user.id}${query}`, body, session === undefined ? {} : { session });

    // Version 5 of the npm package leancloud-storage changes users under classes/ and fails without the id.
    const named = path === '/1.1/users' ? [] : ['objectId'];

    it('changes what is sent, leaves the rest, and answers the new time', async () => {
      const user = await signUp(api, { color: 'red', size: 3 });
      const { status, body } = await put(user, { color: 'blue' }, user.session);
      expect([status, Object.keys(body).sort()]).toEqual([200, [...named, 'updatedAt']]);
      if (named.length > 0) expect(body['objectId']).toBe(user.id);
      expect(await read(user)).toMatchObject({
        color: 'blue',
        size: 3,
        updatedAt: body['updatedAt'],
        createdAt: user.body['createdAt'],
      });
      expect(Date.parse(String(body['updatedAt']))).toBeGreaterThan(Date.parse(String(user.body['updatedAt'])));
    });

    it('answers the changed fields with new=true and fetchWhenSave=true', async () => {
      const user = await signUp(api, { color: 'red', size: 3 });
      for (const query of ['?new=true', '?fetchWhenSave=true']) {
        const { body } = await put(user, { color: 'blue' }, user.session, query);
        expect(body).toEqual({ updatedAt: expect.any(String) as string, objectId: user.id, color: 'blue' });
      }
    });

    it('answers the flags that a new address and number reset, too', async () => {
      const user = await signUp(api);
      const contact = { email: `${unique('new')}@example.com`, mobilePhoneNumber: uniquePhone() };
      const { body } = await put(user, contact, user.session, '?fetchWhenSave=True');
      expect(body).toMatchObject({ ...contact, mobilePhoneVerified: false });
      expect(Object.keys(body).sort()).toContain('emailVerified');
    });

    it('ignores the hooks of the cloud engine that an SDK wants left out, and its names of objects', async () => {
      const user = await signUp(api);
      const changes = { color: 'blue', __ignore_hooks: ['beforeSave'], __internalId: user.id };
      expect((await put(user, changes, user.session)).status).toBe(200);
      for (const name of ['__ignore_hooks', '__internalId']) expect(await read(user)).not.toHaveProperty(name);
    });

    it('changes username, e-mail and phone number, and takes them away by null or Delete', async () => {
      const user = await signUp(api);
      const wanted = {
        username: unique('renamed'),
        email: `${unique('new')}@example.com`,
        mobilePhoneNumber: uniquePhone(),
      };
      await put(user, wanted, user.session);
      expect(await read(user)).toMatchObject(wanted);
      await put(user, { email: null, mobilePhoneNumber: { __op: 'Delete' } }, user.session);
      const body = await read(user);
      expect([body['email'], body['mobilePhoneNumber'], body['emailVerified']]).toEqual([undefined, undefined, null]);
    });

    it('refuses an address or a number that is none, and a number that is taken', async () => {
      const [user, other] = [await signUp(api), await signUp(api, { mobilePhoneNumber: uniquePhone() })];
      const codeOf = async (body: unknown) => (await put(user, body, user.session)).body['code'];
      expect(await codeOf({ email: 'not-an-address' })).toBe(125);
      expect(await codeOf({ mobilePhoneNumber: 'call me' })).toBe(127);
      expect(await codeOf({ mobilePhoneNumber: other.body['mobilePhoneNumber'] })).toBe(214);
    });

    it('removes a custom field by Delete', async () => {
      const user = await signUp(api, { color: 'red', size: 3 });
      await put(user, { color: { __op: 'Delete' } }, user.session);
      const body = await read(user);
      expect([body['color'], body['size']]).toEqual([undefined, 3]);
    });

    it('needs the session of that user', async () => {
      const [user, other] = [await signUp(api, { color: 'red' }), await signUp(api)];
      for (const session of [undefined, other.session, 'unknown', 'x'.repeat(10_000)]) {
        const { status, body } = await put(user, { color: 'stolen' }, session);
        expect([status, body]).toEqual([403, SESSION_REQUIRED]);
      }
      expect((await put({ ...user, id: 'a'.repeat(24) }, { color: 'x' }, user.session)).body).toEqual(SESSION_REQUIRED);
      expect((await read(user))['color']).toBe('red');
    });

    it('lets the master key change everything but what the server owns', async () => {
      const user = await signUp(api, { email: `${unique('m')}@example.com`, ACL: {} });
      const change = (body: unknown) => master.put(`${path}/${user.id}`, body);
      expect((await change({ color: 'blue', emailVerified: true, mobilePhoneVerified: false })).status).toBe(200);
      expect((await change({ objectId: 'x' })).body['code']).toBe(117);
      expect((await change({ emailVerified: null })).status).toBe(200);
      expect((await master.get(`${path}/${user.id}`)).body['emailVerified']).toBeNull();
      expect((await change({ emailVerified: true })).status).toBe(200);
      expect((await master.get(`${path}/${user.id}`)).body).toMatchObject({ color: 'blue', emailVerified: true });
      expect((await master.put(`${path}/${'a'.repeat(24)}`, { color: 'x' })).body['code']).toBe(211);
    });

    it('is refused by an ACL without write permission; an ACL never lets others write', async () => {
      const [user, other] = [await signUp(api), await signUp(api)];
      await put(user, { ACL: { '*': { read: true, write: true }, [other.id]: { write: true } } }, user.session);
      expect((await put(user, { color: 'x' }, other.session)).body).toEqual(SESSION_REQUIRED);
      expect((await put(user, { ACL: { '*': { read: true } } }, user.session)).status).toBe(200);
      const { status, body } = await put(user, { color: 'x' }, user.session);
      expect([status, body]).toEqual([403, { code: 403, error: "Forbidden writing by object's ACL." }]);
      expect((await master.put(`${path}/${user.id}`, { color: 'master' })).status).toBe(200);
    });

    it('changes the password: a new token, the old one is dead', async () => {
      const user = await signUp(api);
      const { body } = await put(user, { password: 'changed' }, user.session);
      expect(Object.keys(body).sort()).toEqual([...named, 'sessionToken', 'updatedAt']);
      expect((await api.get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
      expect((await put(user, { color: 'x' }, user.session)).body).toEqual(SESSION_REQUIRED);
      expect((await put(user, { color: 'x' }, String(body['sessionToken']))).status).toBe(200);
      expect((await api.post('/1.1/login', { username: user.username, password: 'changed' })).status).toBe(200);
      expect((await api.post('/1.1/login', { username: user.username, password: user.password })).body['code']).toBe(
        210,
      );
    });
  });

  describe('PUT /1.1/users/<objectId>/updatePassword', () => {
    const change = (user: TestUser, body: unknown, session?: string) =>
      api.put(`/1.1/users/${user.id}/updatePassword`, body, session === undefined ? {} : { session });

    it('answers time, id and the new token', async () => {
      const user = await signUp(api);
      const { status, body } = await change(user, { old_password: user.password, new_password: 'new' }, user.session);
      expect([status, body]).toEqual([
        200,
        {
          updatedAt: expect.any(String) as string,
          objectId: user.id,
          sessionToken: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        },
      ]);
      expect(body['sessionToken']).not.toBe(user.session);
      expect((await api.get('/1.1/users/me', { session: String(body['sessionToken']) })).body['objectId']).toBe(
        user.id,
      );
      expect((await api.get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
    });

    it.each<[string, unknown, number]>([
      ['a wrong old password', { old_password: 'wrong', new_password: 'new' }, 210],
      ['no old password', { new_password: 'new' }, 218],
      ['an old password that is an object', { old_password: { $ne: 1 }, new_password: 'new' }, 218],
      ['no new password', { old_password: 'correct horse' }, 218],
      ['an empty new password', { old_password: 'correct horse', new_password: '' }, 218],
      ['a new password that is a number', { old_password: 'correct horse', new_password: 5 }, 218],
    ])('refuses %s and changes nothing', async (_, body, code) => {
      const user = await signUp(api);
      const reply = await change(user, body, user.session);
      expect([reply.status, reply.body['code']]).toEqual([400, code]);
      const login = await api.post('/1.1/login', { username: user.username, password: user.password });
      expect(login.body['sessionToken']).toBe(user.session);
    });

    it('needs the session of that user', async () => {
      const [user, other] = [await signUp(api), await signUp(api)];
      const passwords = { old_password: user.password, new_password: 'new' };
      for (const session of [undefined, other.session, 'unknown']) {
        const { status, body } = await change(user, passwords, session);
        expect([status, body]).toEqual([403, SESSION_REQUIRED]);
      }
    });

    it('says to the master key that there is no such user', async () => {
      const { status, body } = await master.put(`/1.1/users/${'a'.repeat(24)}/updatePassword`, {
        old_password: 'old',
        new_password: 'new',
      });
      expect([status, body['code']]).toEqual([400, 211]);
    });

    it('is refused by an ACL without write permission', async () => {
      const user = await signUp(api, { ACL: { '*': { read: true } } });
      const { status, body } = await change(user, { old_password: user.password, new_password: 'new' }, user.session);
      expect([status, body['code']]).toEqual([403, 403]);
    });
  });

  describe('PUT /1.1/users/<objectId>/refreshSessionToken', () => {
    it('answers the user with a new token; the old one is dead at once', async () => {
      const user = await signUp(api);
      const { status, body } = await api.put(`/1.1/users/${user.id}/refreshSessionToken`, undefined, {
        session: user.session,
      });
      expect(status).toBe(200);
      const own = [
        'createdAt',
        'emailVerified',
        'mobilePhoneVerified',
        'objectId',
        'sessionToken',
        'updatedAt',
        'username',
      ];
      expect(Object.keys(body).sort()).toEqual(own);
      expect(body['sessionToken']).not.toBe(user.session);
      expect((await api.get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
      expect((await api.put(`/1.1/users/${user.id}`, { a: 1 }, { session: user.session })).status).toBe(403);
      expect((await api.get('/1.1/users/me', { session: String(body['sessionToken']) })).status).toBe(200);
    });

    it('works with the master key, and takes a body of null', async () => {
      const user = await signUp(api);
      const { status, body } = await master.put(`/1.1/users/${user.id}/refreshSessionToken`, 'null');
      expect([status, body['objectId']]).toEqual([200, user.id]);
      expect((await master.put(`/1.1/users/${'a'.repeat(24)}/refreshSessionToken`)).body['code']).toBe(211);
    });

    it('needs the session of that user', async () => {
      const [user, other] = [await signUp(api), await signUp(api)];
      for (const session of [undefined, other.session, 'unknown']) {
        const { status, body } = await api.put(
          `/1.1/users/${user.id}/refreshSessionToken`,
          {},
          session === undefined ? {} : { session },
        );
        expect([status, body]).toEqual([403, SESSION_REQUIRED]);
      }
      expect((await api.get('/1.1/users/me', { session: user.session })).status).toBe(200);
    });
  });

  describe.each(['/1.1/users', '/1.1/classes/_User'])('DELETE %s/<objectId>', (path) => {
    it('answers {}; the user, its login and its token are gone', async () => {
      const user = await signUp(api);
      const { status, body } = await api.send('DELETE', `${path}/${user.id}`, { session: user.session, body: {} });
      expect([status, body]).toEqual([200, {}]);
      expect((await read(user))['code']).toBe(211);
      expect((await api.get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
      expect((await api.post('/1.1/login', { username: user.username, password: user.password })).body['code']).toBe(
        211,
      );
      expect((await api.delete(`${path}/${user.id}`, { session: user.session })).body).toEqual(SESSION_REQUIRED);
    });

    it('is refused by an ACL without write permission', async () => {
      const user = await signUp(api, { ACL: { '*': { read: true } } });
      const { status, body } = await api.delete(`${path}/${user.id}`, { session: user.session });
      expect([status, body['code']]).toEqual([403, 403]);
      expect((await read(user))['objectId']).toBe(user.id);
    });

    it('needs the session of that user, or the master key', async () => {
      const [user, other] = [await signUp(api), await signUp(api)];
      for (const session of [undefined, other.session, 'unknown']) {
        const { status, body } = await api.delete(`${path}/${user.id}`, session === undefined ? {} : { session });
        expect([status, body]).toEqual([403, SESSION_REQUIRED]);
      }
      expect(await master.delete(`${path}/${user.id}`)).toMatchObject({ status: 200, body: {} });
      expect((await master.delete(`${path}/${user.id}`)).body['code']).toBe(211);
    });
  });
}
