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
} from '#testing';

const PUBLIC = { '*': { read: true } };
const pointer = (className: string, objectId: unknown) => ({ __type: 'Pointer', className, objectId });
const add = (className: string, ...ids: unknown[]) => ({
  __op: 'AddRelation',
  objects: ids.map((id) => pointer(className, id)),
});
const remove = (className: string, ...ids: unknown[]) => ({ ...add(className, ...ids), __op: 'RemoveRelation' });
const where = (condition: unknown) => `?where=${encodeURIComponent(JSON.stringify(condition))}`;

let count = 0;
const roleName = () => `role_${process.pid}_${(count += 1)}_${Math.trunc(performance.now() * 1000)}`;

/** Roles, and what must not become one: privilege by id or class. */
export function describeRoles(server: () => GatepostServer): void {
  describe.each(['/1.1/roles', '/1.1/classes/_Role'])('roles at %s', (path) => {
    let api: ApiClient;
    let master: ApiClient;
    let [ada, grace]: TestUser[] = [];
    beforeAll(async () => {
      [api, master] = [appClient(server()), masterClient(server())];
      [ada, grace] = [await signUp(api), await signUp(api)];
    });
    const create = async (fields: Json = {}) => {
      const role = { name: roleName(), ACL: PUBLIC, ...fields };
      const { status, body } = await master.post(path, role);
      expect(status).toBe(201);
      return { ...role, id: String(body['objectId']) };
    };
    const rolesOf = async (user: TestUser, client = api) =>
      ((await client.get(`${path}${where({ users: pointer('_User', user.id) })}`)).body['results'] as Json[]).map(
        ({ name }) => name,
      );

    it('are created with a name and an ACL, found by name, and shown without their members', async () => {
      const name = roleName();
      const { status, body, headers } = await api.post(path, { name, ACL: PUBLIC, color: 'red' });
      expect([status, Object.keys(body).sort()]).toEqual([201, ['createdAt', 'objectId']]);
      expect(headers.get('location')).toMatch(new RegExp(`/1.1/roles/${String(body['objectId'])}$`));
      const found = (await api.get(`${path}${where({ name })}`)).body['results'];
      expect(found).toEqual([
        {
          objectId: body['objectId'],
          name,
          color: 'red',
          createdAt: body['createdAt'],
          updatedAt: body['createdAt'],
          users: { __type: 'Relation', className: '_User' },
          roles: { __type: 'Relation', className: '_Role' },
        },
      ]);
      const one = await api.get(`${path}/${String(body['objectId'])}?returnACL=true`);
      expect(one.body).toEqual({ ...(found as Json[])[0], ACL: PUBLIC });
    });

    it('have an ACL without what it does not grant, which SDKs send as false', async () => {
      const { body } = await api.post(path, { name: roleName(), ACL: { '*': { read: true, write: false } } });
      const one = await api.get(`${path}/${String(body['objectId'])}?returnACL=true`);
      expect(one.body['ACL']).toEqual(PUBLIC);
    });

    it('show members by redirectClassNameForKey only with the right to find users', async () => {
      const { id } = await signUp(api);
      const { body } = await api.post(path, { name: roleName(), ACL: PUBLIC, users: add('_User', id) });
      const object = { __type: 'Pointer', className: '_Role', objectId: body['objectId'] };
      const members = `${path}${where({ $relatedTo: { object, key: 'users' } })}&redirectClassNameForKey=users`;
      expect((await api.get(members)).status).toBe(403);
      expect((await master.get(members)).body).toMatchObject({ className: '_User', results: [{ objectId: id }] });
    });

    it('answer the whole role with fetchWhenSave', async () => {
      const { body } = await api.post(`${path}?fetchWhenSave=true`, { name: roleName(), ACL: PUBLIC });
      expect(body).toMatchObject({ ACL: PUBLIC, users: { __type: 'Relation' } });
    });

    const refused: [string, Json, number][] = [
      ['no ACL', { name: 'x' }, 1],
      ['an ACL that is null', { name: 'x', ACL: null }, 1],
      ['no name', { ACL: PUBLIC }, 139],
      ['a name with a hyphen', { name: 'a-b', ACL: PUBLIC }, 139],
      ['a name of 129 characters', { name: 'x'.repeat(129), ACL: PUBLIC }, 139],
      ['a name that is a number', { name: 7, ACL: PUBLIC }, 139],
      ['an ACL with a text', { name: 'x', ACL: { '*': { read: 'no' } } }, 123],
      ['users that are a list', { name: 'x', ACL: PUBLIC, users: [] }, 111],
      ['users of another class', { name: 'x', ACL: PUBLIC, users: add('_Role', 'a') }, 128],
      ['users that do not exist', { name: 'x', ACL: PUBLIC, users: add('_User', 'f'.repeat(24)) }, 128],
      ['roles that do not exist', { name: 'x', ACL: PUBLIC, roles: add('_Role', 'f'.repeat(24)) }, 128],
      ['no users in a relation', { name: 'x', ACL: PUBLIC, users: add('_User') }, 128],
      ['a relation of another name', { name: 'x', ACL: PUBLIC, friends: add('_User', 'a') }, 111],
      ['a malformed pointer', { name: 'x', ACL: PUBLIC, users: { __op: 'AddRelation', objects: [{}] } }, 106],
      ['a field of the server', { name: 'x', ACL: PUBLIC, objectId: 'role' }, 117],
      ['a field name with a quote', { name: 'x', ACL: PUBLIC, "a'": 1 }, 105],
      ['a nested key with a dollar', { name: 'x', ACL: PUBLIC, a: { $b: 1 } }, 121],
    ];
    it.each(refused)('refuse %s, and nothing is made', async (_, fields, code) => {
      const name = fields['name'] === 'x' ? roleName() : fields['name'];
      const { status, body } = await api.post(path, name === undefined ? fields : { ...fields, name });
      expect([status, body['code']]).toEqual([400, code]);
      if (fields['name'] === 'x') expect((await master.get(`${path}${where({ name })}`)).body['results']).toEqual([]);
    });

    it('may not grow over the limit: 116', async () => {
      const { id } = await create({ a: 'x'.repeat(1_000_000) });
      expect((await master.put(`${path}/${id}`, { b: 'x'.repeat(60_000) })).body['code']).toBe(116);
      expect((await master.get(`${path}/${id}`)).body['b']).toBeUndefined();
    });

    it('have names of their own: 137', async () => {
      const { name } = await create();
      const { status, body } = await api.post(path, { name, ACL: PUBLIC });
      expect([status, body['code']]).toEqual([400, 137]);
    });

    it('keep their names: 117', async () => {
      const { id, name } = await create();
      expect((await master.put(`${path}/${id}`, { name: roleName() })).body['code']).toBe(117);
      expect((await master.put(`${path}/${id}`, { name })).status).toBe(200);
    });

    it('get and lose users and roles, several at once by Batch', async () => {
      const { id, name } = await create({ users: add('_User', ada!.id) });
      expect(await rolesOf(ada!)).toContain(name);
      const ops = { __op: 'Batch', ops: [add('_User', grace!.id), remove('_User', ada!.id)] };
      const { status, body } = await master.put(`${path}/${id}`, { users: ops });
      expect([status, Object.keys(body).sort()]).toEqual([200, ['objectId', 'updatedAt']]);
      expect([await rolesOf(ada!), await rolesOf(grace!)]).toEqual([
        expect.not.arrayContaining([name]),
        expect.arrayContaining([name]),
      ]);
      // Twice the same changes nothing.
      expect((await master.put(`${path}/${id}`, { users: add('_User', grace!.id, grace!.id) })).status).toBe(200);
      expect((await rolesOf(grace!)).filter((held) => held === name)).toHaveLength(1);
    });

    it('are changed by whom their ACL lets, in fields and members', async () => {
      const { id } = await create({ ACL: { '*': { read: true }, [ada!.id]: { write: true } } });
      const put = (session: string | undefined, body: Json) =>
        api.put(`${path}/${id}`, body, session === undefined ? {} : { session });
      for (const session of [undefined, 'unknown', grace!.session]) {
        const { status, body } = await put(session, { users: add('_User', grace!.id) });
        expect([status, body]).toEqual([403, { code: 403, error: "Forbidden writing by object's ACL." }]);
      }
      expect((await put(ada!.session, { color: 'red', users: add('_User', ada!.id) })).status).toBe(200);
      expect((await api.get(`${path}/${id}`)).body['color']).toBe('red');
      expect((await api.delete(`${path}/${id}`, { session: grace!.session })).status).toBe(403);
      expect((await api.delete(`${path}/${id}`, { session: ada!.session })).body).toEqual({});
      expect((await api.get(`${path}/${id}`)).body).toEqual({});
    });

    it('are hidden by their ACL, from queries, counts and by id', async () => {
      const { id, name } = await create({ ACL: { [ada!.id]: { read: true } } });
      const look = async (session?: string) => {
        const request = session === undefined ? {} : { session };
        const list = await api.get(`${path}${where({ name })}&count=1`, request);
        const one = await api.get(`${path}/${id}`, request);
        return [(list.body['results'] as Json[]).length, list.body['count'], one.body['objectId']];
      };
      expect(await look()).toEqual([0, 0, undefined]);
      expect(await look(grace!.session)).toEqual([0, 0, undefined]);
      expect(await look(ada!.session)).toEqual([1, 1, id]);
    });

    it('are changed where a condition is met, and else not: 305', async () => {
      const { id, name } = await create({ level: 1 });
      const put = (condition: unknown) => master.put(`${path}/${id}${where(condition)}&new=true`, { level: 2 });
      expect((await put({ level: 7 })).body['code']).toBe(305);
      expect((await put({ level: 1, name })).body['level']).toBe(2);
      expect((await master.delete(`${path}/${id}${where({ level: 1 })}`)).body['code']).toBe(305);
      expect((await master.delete(`${path}/${id}${where({ level: 2 })}`)).status).toBe(200);
    });

    describe('that a user may change, but not read', () => {
      const hidden = () => create({ ACL: { [ada!.id]: { write: true } }, level: 1, users: add('_User', grace!.id) });
      const asAda = () => ({ session: ada!.session });

      it.each([
        ['a condition that is met', { level: 1 }],
        ['one that is not', { level: 7 }],
        ['a pattern', { name: { $regex: '^role' } }],
        ['its members', { users: { $exists: true } }],
      ])('do not exist for a change or deletion with %s', async (_, condition) => {
        const { id } = await hidden();
        expect((await api.get(`${path}/${id}`, asAda())).body).toEqual({});
        for (const { status, body } of [
          await api.put(`${path}/${id}${where(condition)}`, {}, asAda()),
          await api.delete(`${path}/${id}${where(condition)}`, asAda()),
        ])
          expect([status, body['code']]).toEqual([404, 101]);
        expect((await master.get(`${path}/${id}`)).body['level']).toBe(1);
      });

      it('show none of their values in the answer to a change', async () => {
        const { id } = await hidden();
        const put = (changes: Json) => api.put(`${path}/${id}?new=true`, changes, asAda());
        const { status, body } = await put({ level: { __op: 'Increment', amount: 1 } });
        expect([status, Object.keys(body).sort()]).toEqual([200, ['objectId', 'updatedAt']]);
        expect((await put({ ACL: { [ada!.id]: { read: true, write: true } }, level: 3 })).body['level']).toBe(3);
      });
    });

    it('go several at once, all or none', async () => {
      const [one, two] = [await create(), await create()];
      const missing = 'f'.repeat(24);
      expect((await master.delete(`${path}/${one.id},${missing}`)).body['code']).toBe(101);
      expect((await api.get(`${path}/${one.id}`)).body['name']).toBe(one.name);
      expect((await master.delete(`${path}/${one.id},${two.id}`)).body).toEqual({});
      expect((await api.get(`${path}/${two.id}`)).body).toEqual({});
    });

    it('that do not exist: {} when read, 101 when written', async () => {
      const id = 'f'.repeat(24);
      expect((await api.get(`${path}/${id}`)).body).toEqual({});
      expect((await master.put(`${path}/${id}`, { a: 1 })).body['code']).toBe(101);
      expect((await master.delete(`${path}/${id}`)).body['code']).toBe(101);
      for (const wrong of ['a!b', 'x'.repeat(65)]) expect((await api.get(`${path}/${wrong}`)).status).toBe(404);
    });
  });

  describe('the rights that roles give', () => {
    let api: ApiClient;
    let master: ApiClient;
    beforeAll(() => {
      [api, master] = [appClient(server()), masterClient(server())];
    });
    const create = async (fields: Json = {}) => {
      const name = roleName();
      const { body } = await master.post('/1.1/roles', { name, ACL: PUBLIC, ...fields });
      return { name, id: String(body['objectId']) };
    };
    const hiddenUser = async (grantee: string) => signUp(api, { ACL: { [grantee]: { read: true } } });
    const sees = async (viewer: TestUser, hidden: TestUser) =>
      (await api.get(`/1.1/users/${hidden.id}`, { session: viewer.session })).status === 200;

    it('come with the role and go with it, at once', async () => {
      const member = await signUp(api);
      const role = await create();
      const hidden = await hiddenUser(`role:${role.name}`);
      expect(await sees(member, hidden)).toBe(false);
      await master.put(`/1.1/roles/${role.id}`, { users: add('_User', member.id) });
      expect(await sees(member, hidden)).toBe(true);
      await master.put(`/1.1/roles/${role.id}`, { users: remove('_User', member.id) });
      expect(await sees(member, hidden)).toBe(false);
    });

    it('come by roles within roles, over several levels, rings included', async () => {
      const member = await signUp(api);
      const child = await create({ users: add('_User', member.id) });
      const parent = await create({ roles: add('_Role', child.id) });
      const grandparent = await create({ roles: add('_Role', parent.id) });
      await master.put(`/1.1/roles/${child.id}`, { roles: add('_Role', grandparent.id) });
      for (const { name } of [child, parent, grandparent])
        expect(await sees(member, await hiddenUser(`role:${name}`))).toBe(true);
      const other = await signUp(api);
      expect(await sees(other, await hiddenUser(`role:${grandparent.name}`))).toBe(false);
    });

    it('do not go from the parent to the child', async () => {
      const member = await signUp(api);
      const child = await create();
      await create({ users: add('_User', member.id), roles: add('_Role', child.id) });
      expect(await sees(member, await hiddenUser(`role:${child.name}`))).toBe(false);
    });

    it('never let one user write another', async () => {
      const member = await signUp(api);
      const role = await create({ users: add('_User', member.id) });
      const victim = await signUp(api, {
        ACL: { '*': { read: true }, [`role:${role.name}`]: { read: true, write: true } },
      });
      const { status, body } = await api.put(`/1.1/users/${victim.id}`, { color: 'red' }, { session: member.session });
      expect([status, body['code']]).toEqual([403, 206]);
    });

    it('let a user write himself where his ACL names his role only', async () => {
      const role = await create();
      const user = await signUp(api, { ACL: { [`role:${role.name}`]: { read: true, write: true } } });
      const put = () => api.put(`/1.1/users/${user.id}`, { color: 'red' }, { session: user.session });
      expect((await put()).status).toBe(403);
      await master.put(`/1.1/roles/${role.id}`, { users: add('_User', user.id) });
      expect((await put()).status).toBe(200);
    });

    it('end with the user, and its memberships with it', async () => {
      const member = await signUp(api);
      const role = await create({ users: add('_User', member.id) });
      await api.delete(`/1.1/users/${member.id}`, { session: member.session });
      const { body } = await master.get(`/1.1/roles${where({ users: pointer('_User', member.id) })}`);
      expect(body['results']).toEqual([]);
      expect((await master.get(`/1.1/roles/${role.id}`)).body['name']).toBe(role.name);
    });
  });

  describe('the SDK with roles', () => {
    it('creates a role, adds users, finds them by it, and reads by its ACL', async () => {
      const { app, baseUrls } = server();
      AV.init({ appId: app.id, appKey: app.appKey, serverURL: baseUrls[0] ?? '' });
      const user = new AV.User();
      user.setUsername(roleName());
      user.setPassword('a password');
      await user.signUp();
      const acl = new AV.ACL();
      acl.setPublicReadAccess(true);
      acl.setWriteAccess(user, true);
      const name = roleName();
      const role = new AV.Role(name, acl);
      role.getUsers().add(user);
      await role.save();
      const found = await user.getRoles();
      expect(found.map((held) => held.getName())).toEqual([name]);
      const again = await new AV.Query(AV.Role).equalTo('name', name).first();
      expect(again?.id).toBe(role.id);
      again?.getUsers().remove(user);
      await again?.save();
      expect(await user.getRoles()).toEqual([]);
      await again?.destroy();
      await expect(new AV.Query(AV.Role).get(role.id ?? '')).rejects.toMatchObject({ code: 101 });
    });
  });
}
