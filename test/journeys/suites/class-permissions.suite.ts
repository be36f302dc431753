import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  setSetting,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';
import { PhoneClient } from './phone-client.js';

const ACL = { '*': { read: true, write: true } };
/** Settings and permissions work within a second. */
const EFFECTIVE_MS = 3_000;

/** The permissions of a class as a whole. */
export function describeClassPermissions(server: () => GatepostServer): void {
  describe('class permissions', () => {
    let app: AppKeys;
    let api: ApiClient;
    let master: ApiClient;
    let user: TestUser;
    let member: TestUser;
    let roleId: string;
    let installationId: string;

    const permit = async (className: string, operation: string, ...who: string[]) => {
      const { status, stderr } = await gatepost(server(), 'permissions', 'set', app.id, className, operation, ...who);
      if (status !== 0) throw new Error(stderr);
    };
    const forbidden = (operation: string, className: string) => ({
      code: 403,
      error: `Forbidden to ${operation} by class '${className}' permissions.`,
    });

    beforeAll(async () => {
      app = await createApplication(server());
      const baseUrl = server().baseUrls[0] ?? '';
      [api, master] = [ApiClient.forApp(baseUrl, app), ApiClient.forMaster(baseUrl, app)];
      user = await eventually(() => signUp(api));
      member = await signUp(api);
      const users = { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: '_User', objectId: member.id }] };
      roleId = String((await master.post('/1.1/roles', { name: 'staff', ACL, users })).body['objectId']);
      installationId = String((await register(master)).body['objectId']);
    });

    const register = (client: ApiClient, session?: string) =>
      client.post('/1.1/installations', { installationId: unique('device') }, { session });

    /** One request per operation but delete, by whom it is sent. */
    const requests: Record<string, Record<string, (session?: string) => Promise<{ status: number; body: unknown }>>> = {
      _User: {
        find: (session) => api.get('/1.1/users', { session }),
        get: (session) => api.get(`/1.1/users/${user.id}`, { session }),
        create: (session) => api.post('/1.1/users', { username: unique('new'), password: 'p' }, { session }),
        update: (session) => api.put(`/1.1/users/${user.id}`, { color: 'red' }, { session }),
      },
      _Role: {
        find: (session) => api.get('/1.1/roles', { session }),
        get: (session) => api.get(`/1.1/roles/${roleId}`, { session }),
        create: (session) => api.post('/1.1/roles', { name: unique('r').replace('-', '_'), ACL }, { session }),
        update: (session) => api.put(`/1.1/roles/${roleId}`, { color: 'red' }, { session }),
      },
      _Installation: {
        find: (session) => api.get('/1.1/installations', { session }),
        get: (session) => api.get(`/1.1/installations/${installationId}`, { session }),
        create: (session) => register(api, session),
        update: (session) => api.put(`/1.1/installations/${installationId}`, { color: 'red' }, { session }),
      },
    };

    it.each(Object.keys(requests))(
      'of %s: nobody, logged-in users, listed users, a role, everyone',
      async (className) => {
        const operations = requests[className] ?? {};
        /** The operations refused to the anonymous principal, to a user, and to a user with the role. */
        const refusals = async () => {
          const sessions = [undefined, user.session, member.session];
          return Promise.all(
            sessions.map(async (session) => {
              const refused: string[] = [];
              for (const [operation, send] of Object.entries(operations)) {
                const { status, body } = await send(session);
                if (status !== 403) continue;
                // An update without the user's own session is refused by its own code.
                if (JSON.stringify(body) === JSON.stringify(forbidden(operation, className))) refused.push(operation);
              }
              return refused;
            }),
          );
        };
        const all = Object.keys(operations);
        // A user always finds itself.
        const refused = className === '_User' ? all.filter((name) => name !== 'find') : all;
        for (const [who, expected] of [
          [['nobody'], [all, refused, refused]],
          [['users'], [all, [], []]],
          [
            [user.id, 'role:staff'],
            [all, [], []],
          ],
          [['role:staff'], [all, refused, []]],
          [['everyone'], [[], [], []]],
        ]) {
          await permit(className, all.join(','), ...(who as string[]));
          await eventually(async () => {
            expect([who, await refusals()]).toEqual([who, expected]);
          }, EFFECTIVE_MS);
        }
        if (className === '_User') await permit(className, 'find', 'nobody');
      },
    );

    const victims: [string, string, () => Promise<{ body: unknown }>][] = [
      ['_User', '/1.1/users/', () => signUp(api)],
      ['_Role', '/1.1/roles/', () => master.post('/1.1/roles', { name: unique('r').replace('-', '_'), ACL })],
      ['_Installation', '/1.1/installations/', () => register(api)],
    ];
    it.each(victims)('of delete %s refuse everyone but the master key', async (className, path, create) => {
      const { body: victim } = await create();
      const { objectId, sessionToken: session } = victim as { objectId: string; sessionToken?: string };
      await permit(className, 'delete', 'nobody');
      await eventually(async () => {
        const { status, body } = await api.delete(`${path}${objectId}`, { session });
        expect([status, body]).toEqual([403, forbidden('delete', className)]);
      }, EFFECTIVE_MS);
      expect((await master.delete(`${path}${objectId}`)).status).toBe(200);
      await permit(className, 'delete', 'everyone');
    });

    it('of update _User are asked by a change of the phone number too', async () => {
      const body = { mobilePhoneNumber: uniquePhone(), code: '000000' };
      const { session } = user;
      await permit('_User', 'update', 'nobody');
      await eventually(async () => {
        for (const path of ['requestChangePhoneNumber', 'changePhoneNumber'])
          expect((await api.post(`/1.1/${path}`, body, { session })).body).toEqual(forbidden('update', '_User'));
      }, EFFECTIVE_MS);
      await permit('_User', 'update', 'everyone');
    });

    it('of create _User are asked by a sign-up with a phone number too', async () => {
      await permit('_User', 'create', 'nobody');
      await eventually(async () => {
        expect((await api.post('/1.1/users', { username: unique('new'), password: 'p' })).status).toBe(403);
      }, EFFECTIVE_MS);
      const phone = new PhoneClient(server(), uniquePhone(), app);
      const smsCode = await phone.codeBy('requestSmsCode');
      const { status, body } = await phone.post('usersByMobilePhone', { smsCode });
      expect([status, body]).toEqual([403, forbidden('create', '_User')]);
      await permit('_User', 'create', 'everyone');
    });

    it.each([
      ['_Role', '/1.1/roles', () => roleId],
      ['_Installation', '/1.1/installations', () => installationId],
    ])(
      'of get %s are asked by a change or deletion with a condition, and by its answer',
      async (className, path, id) => {
        const increment = { size: { __op: 'Increment', amount: 1 } };
        await permit(className, 'delete', 'everyone');
        await permit(className, 'get', 'nobody');
        await eventually(async () => {
          expect((await api.get(`${path}/${id()}`)).status).toBe(403);
        }, EFFECTIVE_MS);
        for (const condition of [{ objectId: id() }, { objectId: 'x' }, { name: { $regex: '^s' } }]) {
          const where = `where=${encodeURIComponent(JSON.stringify(condition))}`;
          for (const { status, body } of [
            await api.put(`${path}/${id()}?${where}`, {}),
            await api.delete(`${path}/${id()}?${where}`),
          ])
            expect([status, body]).toEqual([403, forbidden('get', className)]);
        }
        const { status, body } = await api.put(`${path}/${id()}?new=true`, increment);
        expect([status, Object.keys(body).sort()]).toEqual([200, ['objectId', 'updatedAt']]);
        const met = `where=${encodeURIComponent(JSON.stringify({ size: 1 }))}`;
        expect((await master.put(`${path}/${id()}?${met}&new=true`, increment)).body['size']).toBe(2);
        await permit(className, 'get', 'everyone');
      },
    );

    it('of get _User do not keep users from conditions on themselves, whom users/me shows to them', async () => {
      await permit('_User', 'get', 'nobody');
      const path = `/1.1/users/${user.id}`;
      await eventually(async () => {
        expect((await api.get(path, { session: user.session })).status).toBe(403);
      }, EFFECTIVE_MS);
      const put = (condition: object) =>
        api.put(
          `${path}?new=true&where=${encodeURIComponent(JSON.stringify(condition))}`,
          { size: { __op: 'Increment', amount: 1 }, ACL: { [user.id]: { write: true } } },
          { session: user.session },
        );
      expect((await put({ size: { $exists: false } })).body['size']).toBe(1);
      expect((await put({ size: 1 })).body['size']).toBe(2);
      expect((await put({ size: 1 })).body['code']).toBe(305);
      await permit('_User', 'get', 'everyone');
    });

    it('let the master key in, whatever they say', async () => {
      await permit('_User', 'find', 'nobody');
      expect((await master.get('/1.1/users')).status).toBe(200);
    });

    it('of find _User are the setting userQueryEnabled by another name', async () => {
      const shown = async () => (await gatepost(server(), 'apps', 'show', app.id)).stdout;
      await setSetting(server(), app, 'userQueryEnabled', 'true');
      expect(await shown()).toMatch(/userQueryEnabled\s+true/);
      expect((await gatepost(server(), 'permissions', 'show', app.id)).stdout).toMatch(/_User\n\s+find\s+everyone/);
      await eventually(async () => {
        expect((await api.get('/1.1/users')).status).toBe(200);
      }, EFFECTIVE_MS);
      const { session } = await signUp(api);
      await permit('_User', 'find', 'users');
      expect(await shown()).toMatch(/userQueryEnabled\s+false/);
      await setSetting(server(), app, 'userQueryEnabled', 'false');
      await eventually(async () => {
        expect((await api.get('/1.1/users', { session })).body['results']).toHaveLength(1);
      }, EFFECTIVE_MS);
    });

    it.each([
      ['an unknown class', ['_Post', 'find', 'everyone']],
      ['an unknown operation', ['_User', 'read', 'everyone']],
      ['a malformed grantee', ['_User', 'find', 'role:a-b']],
      ['a malformed user id', ['_User', 'all', 'a!', 'everyone']],
    ])('are not set to %s', async (_, args) => {
      const { status, stderr } = await gatepost(server(), 'permissions', 'set', app.id, ...args);
      expect([status, stderr.length > 0]).toEqual([1, true]);
    });
  });
}
