import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  appClient,
  createApplication,
  eventually,
  type GatepostServer,
  type Json,
  masterClient,
  setSetting,
  signUp,
  type TestUser,
  unique,
} from '#testing';
import { refusal } from './refusal.js';
import { change, enter, openidEntry, ownerOf, signUpBy, uidEntry } from './third-party-accounts.js';

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as string;
const TAKEN = [400, 208];

/** Specification, PUT /1.1/users/<objectId>: link and unlink a third-party account. */
export function describeLinking(server: () => GatepostServer): void {
  let api: ApiClient;
  let user: TestUser;
  const link = (authData: Json, by = user) => change(api, by, { authData });
  const me = async ({ session } = user) => (await api.get('/1.1/users/me', { session })).body;

  beforeAll(() => {
    api = appClient(server());
  });

  describe('linking', () => {
    beforeEach(async () => {
      user = await signUp(api);
    });

    it('answers the time; from then on the account lets in', async () => {
      const weixin = openidEntry();
      const { status, body } = await link({ weixin });
      expect([status, body]).toEqual([200, { updatedAt: TIMESTAMP }]);
      const entered = await enter(api, { weixin });
      expect([entered.status, entered.body['sessionToken']]).toEqual([200, user.session]);
      expect(await me()).toMatchObject({ username: user.username, authData: { weixin } });
    });

    it('needs the session of the user', async () => {
      const stranger = await signUp(api);
      const body = { authData: { weixin: openidEntry() } };
      expect(await refusal(api.put(`/1.1/users/${user.id}`, body))).toEqual([403, 206]);
      expect(await refusal(change(api, { id: user.id, session: stranger.session }, body))).toEqual([403, 206]);
      expect(await ownerOf(api, body.authData)).toBeUndefined();
    });

    it('takes the master key instead', async () => {
      const github = uidEntry();
      const { status, body } = await masterClient(server()).put(`/1.1/users/${user.id}`, { authData: { github } });
      expect([status, body]).toEqual([200, { updatedAt: TIMESTAMP }]);
      expect(await ownerOf(api, { github })).toBe(user.id);
    });

    it('leaves accounts of other platforms as they are', async () => {
      const authData = { weixin: openidEntry(), github: uidEntry(), qq: openidEntry() };
      for (const [platform, entry] of Object.entries(authData)) await link({ [platform]: entry });
      expect((await me())['authData']).toEqual(authData);
    });

    it.each(['new', 'fetchWhenSave'])('answers authData whole with %s=true', async (parameter) => {
      const [weixin, github] = [openidEntry(), uidEntry()];
      await link({ weixin });
      const body = { authData: { github }, color: 'green' };
      const { session } = user;
      const reply = await api.put(`/1.1/users/${user.id}?${parameter}=true`, body, { session });
      expect([reply.status, reply.body]).toEqual([
        200,
        { updatedAt: TIMESTAMP, objectId: user.id, color: 'green', authData: { weixin, github } },
      ]);
    });

    it('takes a path to the platform too', async () => {
      const github = uidEntry();
      expect((await change(api, user, { 'authData.github': github })).status).toBe(200);
      expect((await me())['authData']).toEqual({ github });
    });

    it('of the same account again stores its newer token', async () => {
      const github = uidEntry();
      const newer = uidEntry(github.uid);
      await link({ github });
      expect((await link({ github: newer })).status).toBe(200);
      expect((await me())['authData']).toEqual({ github: newer });
    });

    it('of another account of a platform frees the one before', async () => {
      const [one, two] = [uidEntry(), uidEntry()];
      await link({ github: one });
      await link({ github: two });
      expect(await ownerOf(api, { github: two })).toBe(user.id);
      const next = await signUpBy(api, { github: one });
      expect(next.id).not.toBe(user.id);
      expect((await me())['authData']).toEqual({ github: two });
    });

    it('of another user’s account is refused with 208, and changes nothing', async () => {
      const [weixin, qq] = [openidEntry(), openidEntry()];
      const owner = await signUpBy(api, { weixin });
      const before = [await me(), await me(owner as never)];
      const body = { authData: { qq, weixin: openidEntry(weixin.openid) }, color: 'red' };
      const { status, body: answer } = await change(api, user, body);
      const error = 'An existing account already linked to another user.';
      expect([status, answer]).toEqual([400, { code: 208, error }]);
      expect([await me(), await me(owner as never)]).toEqual(before);
      expect(await ownerOf(api, { qq })).toBeUndefined();
      const { body: byMaster } = await masterClient(server()).put(`/1.1/users/${user.id}`, body);
      expect(byMaster['code']).toBe(208);
    });

    it('ends at 50 accounts', async () => {
      const batchOf = (prefix: string, count: number) =>
        link(
          Object.fromEntries(
            Array.from({ length: count }, (_, index) => [`${prefix}${index}`, { uid: unique('uid') }]),
          ),
        );
      for (const prefix of ['a', 'b']) expect((await batchOf(prefix, 20)).status).toBe(200);
      expect(await refusal(batchOf('c', 11))).toEqual([400, 116]);
      expect((await batchOf('c', 10)).status).toBe(200);
      expect(Object.keys((await me())['authData'] as Json)).toHaveLength(50);
    });

    it('lets the accounts of a deleted user go', async () => {
      const [weixin, github] = [openidEntry(), uidEntry()];
      await link({ weixin, github });
      await api.delete(`/1.1/users/${user.id}`, { session: user.session });
      expect(await ownerOf(api, { weixin })).toBeUndefined();
      expect((await signUpBy(api, { github })).id).not.toBe(user.id);
    });
  });

  describe('unlinking', () => {
    let weixin: Json;
    let github: Json;
    beforeEach(async () => {
      user = await signUp(api);
      [weixin, github] = [openidEntry(), uidEntry()];
      await link({ weixin, github });
    });

    it.each<[string, () => Json]>([
      ['the operation at its path', () => ({ 'authData.weixin': { __op: 'Delete' } })],
      ['null at its path', () => ({ 'authData.weixin': null })],
      ['the operation', () => ({ authData: { weixin: { __op: 'Delete' } } })],
      ['null', () => ({ authData: { weixin: null } })],
      ['null among all the others, as Python and PHP send them', () => ({ authData: { weixin: null, github } })],
    ])('by %s answers time and id, and frees the account', async (_, body) => {
      const { status, body: answer } = await change(api, user, body());
      expect([status, answer]).toEqual([200, { updatedAt: TIMESTAMP, objectId: user.id }]);
      expect((await me())['authData']).toEqual({ github });
      expect(await ownerOf(api, { github })).toBe(user.id);
      expect((await signUpBy(api, { weixin })).id).not.toBe(user.id);
    });

    it('answers what is left with new=true', async () => {
      const body = { 'authData.weixin': { __op: 'Delete' } };
      const { session } = user;
      const { body: answer } = await api.put(`/1.1/users/${user.id}?new=true`, body, { session });
      expect(answer).toEqual({ updatedAt: TIMESTAMP, objectId: user.id, authData: { github } });
    });

    it('needs the session of the user', async () => {
      const body = { 'authData.weixin': { __op: 'Delete' } };
      expect(await refusal(api.put(`/1.1/users/${user.id}`, body))).toEqual([403, 206]);
      expect(await ownerOf(api, { weixin })).toBe(user.id);
    });

    it('of what is not linked changes nothing', async () => {
      const { status, body } = await change(api, user, { 'authData.qq': { __op: 'Delete' } });
      expect([status, body]).toEqual([200, { updatedAt: TIMESTAMP, objectId: user.id }]);
      expect((await me())['authData']).toEqual({ weixin, github });
    });

    it('of one and linking of another is done in one request', async () => {
      const qq = openidEntry();
      const { body } = await change(api, user, { 'authData.weixin': { __op: 'Delete' }, authData: { qq } });
      expect(body).toEqual({ updatedAt: TIMESTAMP, objectId: user.id });
      expect((await me())['authData']).toEqual({ github, qq });
    });

    it('of the last login method leaves the session as it is', async () => {
      const qq = openidEntry();
      const stranger = await signUpBy(api, { qq });
      expect((await change(api, stranger, { authData: { qq: null } })).status).toBe(200);
      const { body } = await api.get('/1.1/users/me', { session: stranger.session });
      expect([body['objectId'], body['authData'] ?? {}]).toEqual([stranger.id, {}]);
      expect((await change(api, stranger, { color: 'green' })).status).toBe(200);
      const { body: next } = await enter(api, { qq });
      expect(next['objectId']).not.toBe(stranger.id);
      expect(await refusal(change(api, stranger, { authData: { qq } }))).toEqual(TAKEN);
    });
  });

  describe('a save of several objects', () => {
    const save = (requests: unknown[], session?: string) => api.post('/1.1/batch/save', { requests }, { session });
    const put = (body: Json) => ({
      method: 'PUT',
      path: `/1.1/users/${user.id}`,
      body: { __internalId: user.id, ...body },
    });
    const newUser = (fields: Json = {}) => {
      const account = { username: unique('joint'), password: 'p' };
      return { method: 'POST', path: '/1.1/users', body: { __internalId: 'new', ...account, ...fields } };
    };
    beforeEach(async () => {
      user = await signUp(api);
    });

    it('links and unlinks', async () => {
      const [weixin, github] = [openidEntry(), uidEntry()];
      const { status, body } = await save([put({ authData: { weixin, github }, color: 'green' })], user.session);
      expect([status, Object.keys(body)]).toEqual([200, [user.id]]);
      expect(await ownerOf(api, { weixin })).toBe(user.id);
      const unlink = { 'authData.weixin': { __op: 'Delete' } };
      const { body: answer } = await save([put(unlink), newUser({ authData: null })], user.session);
      expect(answer[user.id]).toEqual({ updatedAt: TIMESTAMP, objectId: user.id });
      expect((await me())['authData']).toEqual({ github });
    });

    it.each<[string, () => Promise<Json>, number]>([
      [
        'another user’s account',
        async () => {
          const weixin = openidEntry();
          await signUpBy(api, { weixin });
          return { weixin };
        },
        208,
      ],
      ['an account without its id', () => Promise.resolve({ weixin: {} }), 250],
      ['an account whose id is none', () => Promise.resolve({ weixin: { openid: {} } }), 251],
      ['the entry of a union id', () => Promise.resolve({ _weixin_unionid: { uid: '1' } }), 117],
      ['text for an entry', () => Promise.resolve({ weixin: 'x' }), 111],
      ['a platform with a blank', () => Promise.resolve({ 'we xin': { uid: '1' } }), 105],
      ['an entry that is too large', () => Promise.resolve({ github: { uid: '1', a: 'x'.repeat(16_384) } }), 116],
    ])('with %s does nothing', async (_, authData, code) => {
      const made = newUser();
      const requests = [made, put({ authData: await authData(), color: 'red' })];
      expect(await refusal(save(requests, user.session))).toEqual([400, code]);
      expect(await me()).toEqual({ ...user.body, updatedAt: user.body['updatedAt'] });
      expect(await refusal(api.post('/1.1/login', made.body))).toEqual([400, 211]);
    });

    it('has platforms asked for 20 accounts at most', async () => {
      const authData = (count: number, prefix: string) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, { uid: unique('many') }]));
      const both = (count: number) => [put({ authData: authData(10, 'a') }), put({ authData: authData(count, 'b') })];
      expect(await refusal(save(both(11), user.session))).toEqual([400, 1]);
      expect((await me())['authData']).toBeUndefined();
      expect((await save(both(10), user.session)).status).toBe(200);
      expect(Object.keys((await me())['authData'] as Json)).toHaveLength(20);
    });

    it('cannot sign up by authData', async () => {
      const github = uidEntry();
      expect(await refusal(save([newUser({ authData: { github } })]))).toEqual([400, 1]);
      expect(await ownerOf(api, { github })).toBeUndefined();
    });
  });

  describe('authData is shown', () => {
    let app: AppKeys;
    let open: ApiClient;
    let master: ApiClient;
    let owner: TestUser;
    let other: TestUser;
    const authData = { weixin: openidEntry(), github: uidEntry() };
    const PUBLIC = { '*': { read: true } };
    const pointer = () => ({ __type: 'Pointer', className: '_User', objectId: owner.id });

    beforeAll(async () => {
      app = await createApplication(server());
      const [baseUrl = ''] = server().baseUrls;
      [open, master] = [ApiClient.forApp(baseUrl, app), ApiClient.forMaster(baseUrl, app)];
      await setSetting(server(), app, 'userQueryEnabled', 'true');
      await eventually(async () => {
        expect((await open.get('/1.1/users')).status).toBe(200);
      });
      owner = await signUp(open);
      await change(open, owner, { authData });
      other = await signUp(open, { friend: pointer() });
      const users = { __op: 'AddRelation', objects: [pointer()] };
      const name = unique('role').replaceAll('-', '_');
      await master.post('/1.1/roles', { name, ACL: PUBLIC, users });
    });

    /** The ways in which users are read; each shows `owner`. */
    const readings = async (): Promise<string[]> => {
      const { body: roles } = await master.get('/1.1/roles');
      const [role] = roles['results'] as { objectId: string }[];
      const object = { __type: 'Pointer', className: '_Role', objectId: role?.objectId };
      const inRole = encodeURIComponent(JSON.stringify({ $relatedTo: { object, key: 'users' } }));
      return [
        `/1.1/users/${owner.id}`,
        `/1.1/classes/_User/${owner.id}?keys=authData`,
        '/1.1/users',
        '/1.1/users?keys=authData,username',
        `/1.1/users/${other.id}?include=friend`,
        '/1.1/users?include=friend',
        `/1.1/users?where=${inRole}`,
      ];
    };
    const textsOf = async (client: ApiClient, session?: string) =>
      Promise.all(
        (await readings()).map(async (path) => {
          const { status, text } = await client.get(path, { session });
          expect([path, status, text.includes(owner.id)]).toEqual([path, 200, true]);
          return [path, text.includes('authData') || text.includes(authData.weixin.openid)];
        }),
      );

    it('to no other user, in no way', async () => {
      const hidden = (await readings()).map((path) => [path, false]);
      expect(await textsOf(open)).toEqual(hidden);
      expect(await textsOf(open, other.session)).toEqual(hidden);
    });

    it('to the master key, and to the user itself', async () => {
      expect(await textsOf(master)).toEqual((await readings()).map((path) => [path, true]));
      const { session, username, password } = owner;
      const own = [
        await open.get('/1.1/users/me', { session }),
        await open.get(`/1.1/users/${owner.id}`, { session }),
        await open.post('/1.1/login', { username, password }),
        await open.put(`/1.1/users/${owner.id}/refreshSessionToken`, {}, { session }),
      ];
      expect(own.map(({ body }) => body['authData'])).toEqual(own.map(() => authData));
    });

    it.each(['authData', 'authData.weixin.openid', 'authData.github.uid'])('to no condition: %s', async (field) => {
      const where = encodeURIComponent(JSON.stringify({ [field]: { $exists: true } }));
      for (const client of [open, master]) {
        expect(await refusal(client.get(`/1.1/users?where=${where}`))).toEqual([400, 102]);
        expect(await refusal(client.get(`/1.1/users?order=${field}`))).toEqual([400, 102]);
      }
    });
  });
}
