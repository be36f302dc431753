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

/** Compatibility facts §6. */
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
          { method: 'POST', path: '/1.1/login', body: account },
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
        { code: 403 },
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
      await AV.Object.destroyAll([first], { useMasterKey: true });
      await expect(AV.Object.fetchAll([first, second])).rejects.toMatchObject({ code: 211 });
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
      const note = 'long '.repeat(600);
      user.set('note', note);
      await user.signUp();
      const found = await new AV.Query('_User').equalTo('note', note).find({ useMasterKey: true });
      expect(found.map(({ id }) => id)).toEqual([user.id]);
    });
  });
}
