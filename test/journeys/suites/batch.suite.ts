import AV from 'leancloud-storage';
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

type Answers = ({ success: Json; error?: never } | { success?: never; error: { code: number; error: string } })[];

/** Batches, as SDKs send them. */
export function describeBatch(server: () => GatepostServer): void {
  describe('a batch', () => {
    let api: ApiClient;
    let user: TestUser;
    let other: TestUser;

    const batch = async (requests: unknown[], session?: string, client = api): Promise<Answers> => {
      const { status, body } = await client.post('/1.1/batch', { requests }, { session });
      expect(status).toBe(200);
      return body as unknown as Answers;
    };

    beforeAll(async () => {
      api = appClient(server());
      [user, other] = [await signUp(api), await signUp(api)];
    });

    it('signs up, reads, changes and deletes in order, each with its own outcome', async () => {
      const username = unique('batch');
      const account = { username, password: 'correct horse' };
      const answers = await batch(
        [
          { method: 'POST', path: '/1.1/users', body: { ...account, level: 1 } },
          { method: 'POST', path: '/1.1/users', body: account },
          { method: 'PUT', path: `/1.1/classes/_User/${user.id}`, body: { level: 2 }, params: { new: true } },
          { method: 'PUT', path: `/1.1/users/${other.id}`, body: { level: 3 } },
          { method: 'GET', path: '/1.1/users/me' },
          { method: 'GET', path: '/1.1/users/ffffffffffffffffffffffff' },
          { method: 'post', path: '/1.1/login', body: account },
          { method: 'GET', path: '/1.1/users' },
        ],
        user.session,
      );
      expect(answers.map(({ success, error }) => success ?? error)).toMatchObject([
        { username, level: 1, sessionToken: expect.any(String) as string },
        { code: 202 },
        { objectId: user.id, level: 2 },
        { code: 206 },
        { objectId: user.id, level: 2, sessionToken: user.session },
        { code: 211 },
        { username, level: 1 },
        { results: [{ objectId: user.id, level: 2 }] },
      ]);
      const created = answers[0]?.success ?? {};
      const path = `/1.1/users/${String(created['objectId'])}`;
      expect(await batch([{ method: 'DELETE', path, body: {} }], String(created['sessionToken']))).toEqual([
        { success: {} },
      ]);
      expect((await api.get(path)).body['code']).toBe(211);
      expect((await api.get(`/1.1/users/${other.id}`)).body['level']).toBeUndefined();
    });

    it('queries with an object as where', async () => {
      const where = { username: user.username };
      const request = { method: 'GET', path: '/1.1/users', params: { where, limit: 1, count: 1 } };
      expect(await batch([request], undefined, masterClient(server()))).toMatchObject([
        { success: { results: [{ objectId: user.id }], count: 1 } },
      ]);
    });

    it('reaches nothing beside the API, and holds no batch', async () => {
      const paths = ['/healthz', '/readyz', '/metrics', '/1.1/../metrics', '/1.1/%2e%2e/metrics', '//x/1.1/users'];
      const answers = await batch([
        ...paths.map((path) => ({ method: 'GET', path })),
        { method: 'POST', path: '/1.1/b%61tch', body: { requests: [{ method: 'GET', path: '/1.1/users/me' }] } },
      ]);
      expect(answers.map(({ error }) => error?.code)).toEqual([...paths.map(() => 107), 1]);
    });
  });

  describe('a batch that saves all or none', () => {
    let api: ApiClient;
    let user: TestUser;
    const save = (requests: unknown[], session?: string, client = api) =>
      client.post('/1.1/batch/save', { requests }, { session });
    const newUser = (internalId: string, fields: Json = {}) => ({
      method: 'POST',
      path: '/1.1/users',
      new: true,
      body: { __internalId: internalId, username: unique(internalId), password: 'correct horse', ...fields },
    });
    const change = ({ id }: TestUser, body: Json, more: Json = {}) => ({
      method: 'PUT',
      path: `/1.1/users/${id}`,
      body: { __internalId: id, ...body },
      ...more,
    });
    const read = async ({ id }: { id: string }) => (await api.get(`/1.1/users/${id}`)).body;

    beforeAll(async () => {
      api = appClient(server());
      user = await signUp(api);
    });

    it('sets few passwords at once, and none of too many', async () => {
      const requests = Array.from({ length: 21 }, (_, index) => newUser(`many${index}`));
      const { status, body } = await save(requests);
      expect([status, body['code']]).toEqual([400, 1]);
      expect((await save(requests.slice(0, 20))).status).toBe(200);
    });

    it('changes a user again after its password, by the session that the save came with', async () => {
      const own = await signUp(api);
      const requests = [
        change(own, { password: 'a new one', tags: { __op: 'Add', objects: [1] } }),
        change(own, { tags: { __op: 'Add', objects: [2] } }),
      ];
      const { status, body } = await save(requests, own.session);
      expect([status, Object.keys(body)]).toEqual([200, [own.id]]);
      const { sessionToken } = body[own.id] as { sessionToken: string };
      expect(await read(own)).toMatchObject({ tags: [1, 2] });
      const me = (session: string) => api.get('/1.1/users/me', { session });
      expect([(await me(sessionToken)).status, (await me(own.session)).body['code']]).toEqual([200, 211]);
      expect((await save(requests, own.session)).body['code']).toBe(206);
    });

    it('makes objects that point to each other, and changes others', async () => {
      const child = { className: '_User', cid: 'friend', key: 'friend' };
      const requests = [
        newUser('client', { level: 1, __children: [child] }),
        newUser('friend'),
        change(user, { level: 5 }, { params: { fetchWhenSave: true } }),
        change(user, { color: 'red', level: { __op: 'Increment', amount: 1 } }),
      ];
      const { status, body } = await save(requests, user.session);
      expect([status, Object.keys(body).sort()]).toEqual([200, ['client', 'friend', user.id].sort()]);
      const saved = body as Record<string, { objectId: string }>;
      expect(saved['client']).toMatchObject({ level: 1, sessionToken: expect.any(String) as string });
      expect(saved[user.id]).toMatchObject({ updatedAt: expect.any(String) as string });
      expect(await read({ id: saved['client']?.objectId ?? '' })).toMatchObject({
        friend: { __type: 'Pointer', className: '_User', objectId: saved['friend']?.objectId },
      });
      expect(await read(user)).toMatchObject({ level: 6, color: 'red' });
    });

    it.each<[string, number, () => Promise<unknown>]>([
      ['a name that is taken', 202, () => Promise.resolve(newUser('other', { username: user.username }))],
      ['no password', 201, () => Promise.resolve(newUser('other', { password: '' }))],
      ['another user', 206, async () => change(await signUp(api), { level: 7 })],
      [
        'a condition that is not met',
        305,
        () => Promise.resolve(change(user, {}, { params: { where: { level: -1 } } })),
      ],
      ['a class that is not there', 101, () => Promise.resolve({ ...newUser('other'), path: '/1.1/classes/Post' })],
      ['a field that only the server sets', 117, () => Promise.resolve(change(user, { createdAt: 'now' }))],
      [
        'a child that is not there',
        106,
        () => Promise.resolve(change(user, { __children: [{ className: '_User', cid: 'unknown', key: 'friend' }] })),
      ],
    ])('changes nothing where one request has %s', async (_, code, failing) => {
      const before = await read(user);
      const made = newUser('made');
      const { body } = await save([change(user, { level: 100 }), made, await failing()], user.session);
      expect(body['code']).toBe(code);
      expect(await read(user)).toEqual(before);
      const { username, password } = made.body;
      expect((await api.post('/1.1/login', { username, password })).body['code']).toBe(211);
    });

    it('saves roles with the master key, and none for a client whom the ACL keeps out', async () => {
      const role = (internalId: string) => ({
        method: 'POST',
        path: '/1.1/roles',
        body: { __internalId: internalId, name: unique('role').replaceAll('-', '_'), ACL: { '*': { read: true } } },
      });
      const { status, body } = await save([role('one'), role('two')], undefined, masterClient(server()));
      const { one, two } = body as Record<string, { objectId: string }>;
      expect([status, one?.objectId]).toEqual([200, expect.stringMatching(/^[0-9a-f]{24}$/)]);
      const path = `/1.1/roles/${two?.objectId ?? ''}`;
      const refused = await save(
        [change(user, { level: 50 }), { method: 'PUT', path, body: { note: 1 } }],
        user.session,
      );
      expect([refused.status, refused.body['code']]).toEqual([403, 403]);
      expect((await read(user))['level']).not.toBe(50);
    });
  });

  describe('a batch of the npm package leancloud-storage', () => {
    const newUser = () => {
      const user = new AV.User();
      user.setUsername(unique('sdk-batch'));
      user.setPassword('correct horse');
      return user;
    };

    beforeAll(() => {
      const { app, baseUrls } = server();
      const keys = { appId: app.id, appKey: app.appKey, masterKey: app.masterKey };
      AV.init({ ...keys, serverURL: baseUrls[0] ?? '' });
    });

    it('saves, fetches and deletes several users', async () => {
      const [first, second] = [newUser(), newUser()];
      await AV.Object.saveAll([first, second]);
      expect([first.id, second.id]).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/), expect.any(String)]);
      first.set('level', 1);
      second.set('level', 2);
      await AV.Object.saveAll([first, second], { useMasterKey: true });
      const copies = [first, second].map(({ id = '' }) => AV.Object.createWithoutData('_User', id));
      await AV.Object.fetchAll(copies);
      expect(copies.map((copy) => copy.get('level') as unknown)).toEqual([1, 2]);
      await AV.Object.destroyAll([first, second], { useMasterKey: true });
      for (const user of [first, second]) await expect(AV.Object.fetchAll([user])).rejects.toMatchObject({ code: 211 });
    });

    it('saves, fetches and deletes several roles, and reports one that is gone', async () => {
      const roles = [1, 2].map((level) => {
        const acl = new AV.ACL();
        acl.setPublicReadAccess(true);
        const role = new AV.Role(unique('role').replaceAll('-', '_'), acl);
        role.set('level', level);
        return role;
      });
      await AV.Object.saveAll(roles);
      const copies = roles.map(({ id = '' }) => AV.Object.createWithoutData('_Role', id));
      await AV.Object.fetchAll(copies);
      expect(copies.map((copy) => copy.get('level') as unknown)).toEqual([1, 2]);
      await AV.Object.destroyAll(copies, { useMasterKey: true });
      // Alone it would be an empty object: in a batch the library takes null for one that is not there.
      await expect(AV.Object.fetchAll(copies)).rejects.toMatchObject({ code: 101 });
    });

    it('says which of several failed', async () => {
      const [first, taken] = [newUser(), newUser()];
      await first.signUp();
      taken.setUsername(first.getUsername());
      const third = newUser();
      await expect(AV.Object.saveAll([taken, third])).rejects.toMatchObject({ code: 202 });
      expect(third.id).toEqual(expect.any(String));
    });

    it('sends a query that is too long for a URL', async () => {
      const user = newUser();
      await user.signUp();
      const names = [...Array.from({ length: 200 }, () => unique('unknown')), user.getUsername()];
      const found = await new AV.Query('_User').containedIn('username', names).find({ useMasterKey: true });
      expect(found.map(({ id }) => id)).toEqual([user.id]);
    });
  });
}
