import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  eventually,
  type GatepostServer,
  type Json,
  linkSentBy,
  masterClient,
  newDatabase,
  signUp,
  startServices,
  unique,
} from '#testing';

const JOURNEY_MS = 120_000;
const ACL = { '*': { read: true, write: true } };
/** None is of our own making; two name members of every object in JavaScript. */
const IDS = ['title', 'a-b_C', '-', '_Z9', 'constructor', 'prototype', 'toString', '0'.repeat(64)];
const pointerTo = (className: string, objectId: string) => ({ __type: 'Pointer', className, objectId });
const where = (condition: unknown) => `where=${encodeURIComponent(JSON.stringify(condition))}`;
const idsIn = (body: Json) => (body['results'] as Json[]).map(({ objectId }) => objectId);

/** Objects that were imported into the real service kept the ids that they had, and bring them along. */
describe('objects with ids that were not made here', () => {
  let server: GatepostServer;
  let database: pg.Client;
  let api: ApiClient;
  let master: ApiClient;

  beforeAll(async () => {
    const url = await newDatabase();
    const processes = { gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 };
    server = await startServices(processes, { DATABASE_URL: url });
    database = new pg.Client({ connectionString: url });
    await database.connect();
    [api, master] = [appClient(server), masterClient(server)];
  }, JOURNEY_MS);
  afterAll(async () => {
    await database.end();
    await server.stop();
  });

  /** As an import stores it. */
  const rename = (table: string, from: string, to: string) =>
    database.query(`UPDATE ${table} SET object_id = $3 WHERE app_id = $1 AND object_id = $2`, [
      server.app.id,
      from,
      to,
    ]);
  const importUser = async (id: string) => {
    const user = await signUp(api, { email: `${unique('mail')}@example.com` });
    await rename('accounts.users', user.id, id);
    // The stored token was sealed for the id before.
    const { body } = await master.put(`/1.1/users/${id}/refreshSessionToken`);
    return { ...user, id, session: String(body['sessionToken']), email: String(user.body['email']) };
  };

  it.each(IDS)(
    'are users like others: %s',
    async (id) => {
      const user = await importUser(id);
      const { session } = user;
      const path = `/1.1/users/${id}`;
      expect((await api.get('/1.1/users/me', { session })).body['objectId']).toBe(id);
      expect((await api.get(path)).body).toMatchObject({ objectId: id, username: user.username });
      expect((await api.put(path, { color: 'red' }, { session })).status).toBe(200);
      expect((await api.put(path, { color: 'blue' })).body['code']).toBe(206);
      expect(idsIn((await master.get(`/1.1/users?${where({ objectId: id, color: 'red' })}`)).body)).toEqual([id]);

      const friend = await signUp(api, { friend: pointerTo('_User', id) });
      const ofFriend = { friend: pointerTo('_User', id) };
      expect(idsIn((await master.get(`/1.1/users?${where(ofFriend)}`)).body)).toEqual([friend.id]);
      const included = (await api.get(`/1.1/users/${friend.id}?include=friend`)).body['friend'];
      expect(included).toMatchObject({ objectId: id, username: user.username });
      await api.put(`/1.1/users/${friend.id}`, { ACL: { [id]: { read: true } } }, { session: friend.session });
      expect((await api.get(`/1.1/users/${friend.id}`, { session })).body['objectId']).toBe(friend.id);
      expect((await api.get(`/1.1/users/${friend.id}`)).body['code']).toBe(211);

      const refreshed = (await api.put(`${path}/refreshSessionToken`, undefined, { session })).body['sessionToken'];
      const reset = await linkSentBy(server, user.email, () =>
        api.post('/1.1/requestPasswordReset', { email: user.email }),
      );
      const password = unique('password');
      expect((await api.post(`/1.1/resetPassword/${reset.token}`, { password })).status).toBe(200);
      expect((await api.get('/1.1/users/me', { session: String(refreshed) })).body['code']).toBe(211);
      const again = await api.post('/1.1/login', { username: user.username, password });
      expect(again.body['objectId']).toBe(id);
      const done = await api.delete(path, { session: String(again.body['sessionToken']) });
      expect([done.status, (await api.get(path)).body['code']]).toEqual([200, 211]);
    },
    JOURNEY_MS,
  );

  it.each(IDS)('are roles, whose members have their rights: %s', async (id) => {
    const user = await importUser(id);
    const [name, users] = [unique('role').replace('-', ''), { __op: 'AddRelation', objects: [pointerTo('_User', id)] }];
    const created = await master.post('/1.1/roles', { name, ACL });
    await rename('accounts.roles', String(created.body['objectId']), id);
    expect((await master.put(`/1.1/roles/${id}`, { users, level: 1 })).status).toBe(200);
    expect((await api.get(`/1.1/roles/${id}`)).body).toMatchObject({ objectId: id, name, level: 1 });
    expect(idsIn((await api.get(`/1.1/roles?${where({ users: pointerTo('_User', id) })}`)).body)).toEqual([id]);
    const secret = await signUp(api, { ACL: { [`role:${name}`]: { read: true } } });
    expect((await api.get(`/1.1/users/${secret.id}`, { session: user.session })).body['objectId']).toBe(secret.id);
    expect((await api.get(`/1.1/users/${secret.id}`)).body['code']).toBe(211);
    expect((await master.delete(`/1.1/roles/${id}`)).status).toBe(200);
    expect((await master.delete(`/1.1/users/${id}`)).status).toBe(200);
  });

  it(
    'are installations, each of which gets a push once, in whatever order their ids stand',
    async () => {
      const channel = unique('channel');
      for (const id of IDS) {
        const { body } = await api.post('/1.1/installations', {
          installationId: unique('device'),
          deviceType: 'web',
          channels: [channel],
        });
        await rename('push.installations', String(body['objectId']), id);
        expect((await api.put(`/1.1/installations/${id}`, { level: 1 })).status).toBe(200);
      }
      const countsOf = async (push: Json) => {
        const { body } = await master.post('/1.1/push', { data: { alert: 'a' }, ...push });
        return eventually(async () => {
          const record = (await master.get(`/1.1/notifications/${String(body['objectId'])}`)).body;
          expect(record['status']).toBe('done');
          return (record['platforms'] as Json)['web'];
        });
      };
      expect(await countsOf({ channels: [channel] })).toMatchObject({ targeted: IDS.length, queued: IDS.length });
      for (const id of IDS)
        expect(await countsOf({ where: { objectId: id } })).toMatchObject({ targeted: 1, queued: 1 });
      expect((await master.delete(`/1.1/installations/${IDS.join(',')}`)).status).toBe(200);
    },
    JOURNEY_MS,
  );

  it.each(['__proto__', 'role:admin', '*', 'a.b', 'a b', 'x'.repeat(65)])('are never known as %s', async (id) => {
    const path = encodeURIComponent(id);
    expect((await api.get(`/1.1/users/${path}`)).body['code']).toBe(211);
    expect((await api.get(`/1.1/roles/${path}`)).body['code']).toBe(101);
    const pointing = `{"username":"${unique('u')}","password":"p","friend":{"__type":"Pointer","className":"_User","objectId":"${id}"}}`;
    expect((await api.post('/1.1/users', pointing)).body['code']).toBe(106);
  });

  it('leave no key of an ACL that reaches a prototype', async () => {
    const acl = '{"__proto__":{"read":true,"write":true}}';
    const { status, body } = await api.post('/1.1/users', `{"username":"${unique('u')}","password":"p","ACL":${acl}}`);
    expect([status, body['code']]).toEqual([400, 105]);
  });
});
