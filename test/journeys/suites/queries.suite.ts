import AV from 'leancloud-storage';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  setSetting,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';
import { refusal } from './refusal.js';

const pointer = (className: string, objectId: string) => ({ __type: 'Pointer', className, objectId });

/** Queries of clients, once the application lets them: what they find is what they may read. */
export function describeQueries(server: () => GatepostServer): void {
  describe('queries with the application key', () => {
    let app: AppKeys;
    let api: ApiClient;
    let master: ApiClient;
    let [ada, grace, hidden]: TestUser[] = [];
    const query = (client: ApiClient, className: string, params: Json, session?: string) => {
      const search = new URLSearchParams(
        Object.entries(params).map(([name, value]): [string, string] => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      );
      return client.get(`/1.1/classes/${className}?${search.toString()}`, session === undefined ? {} : { session });
    };
    const names = async (params: Json, session?: string, className = '_User') =>
      ((await query(api, className, { order: 'name', ...params }, session)).body['results'] as Json[]).map(
        ({ name }) => name,
      );

    beforeAll(async () => {
      app = await createApplication(server());
      const baseUrl = server().baseUrls[0] ?? '';
      [api, master] = [ApiClient.forApp(baseUrl, app), ApiClient.forMaster(baseUrl, app)];
      await setSetting(server(), app, 'userQueryEnabled', 'true');
      ada = await eventually(() => signUp(api, { name: 'ada', level: 1, email: `${unique('ada')}@example.com` }));
      grace = await signUp(api, { name: 'grace', level: 2, friend: pointer('_User', ada.id) });
      hidden = await signUp(api, { name: 'hidden', level: 3, ACL: {}, friend: pointer('_User', ada.id) });
      await api.put(`/1.1/users/${ada.id}`, { friend: pointer('_User', hidden.id) }, { session: ada.session });
      const users = (...ids: string[]) => ({ __op: 'AddRelation', objects: ids.map((id) => pointer('_User', id)) });
      const ACL = { '*': { read: true } };
      await master.post('/1.1/roles', { name: 'staff', ACL, users: users(ada.id, hidden.id) });
      await master.post('/1.1/roles', { name: 'secret', ACL: {}, users: users(grace.id) });
      await eventually(async () => {
        expect((await query(api, '_User', {})).status).toBe(200);
      }, 3_000);
    });

    it('find and count what the ACL lets the caller read, and nothing else', async () => {
      expect(await names({})).toEqual(['ada', 'grace']);
      expect(await names({ where: { level: { $gte: 2 } } })).toEqual(['grace']);
      expect((await query(api, '_User', { count: '1', limit: '0' })).body).toEqual({ results: [], count: 2 });
      expect((await query(master, '_User', { count: '1', limit: '0' })).body['count']).toBe(3);
      expect(await names({}, hidden!.session)).toEqual(['ada', 'grace']);
    });

    it('show no session token, no password and no ACL that was not asked for', async () => {
      for (const client of [api, master]) {
        const { body } = await query(client, '_User', { keys: 'sessionToken,password,passwordHash,salt,name' });
        expect(JSON.stringify(body)).not.toMatch(/sessionToken|password|salt/);
      }
    });

    it('do not look into what the caller cannot see by a sub-query', async () => {
      const friendOf = (level: number) => ({ friend: { $inQuery: { className: '_User', where: { level } } } });
      expect(await names({ where: friendOf(1) })).toEqual(['grace']);
      expect(await names({ where: friendOf(3) })).toEqual([]);
      const visible = await query(master, '_User', { where: friendOf(3) });
      expect((visible.body['results'] as Json[]).map(({ name }) => name)).toEqual(['ada']);
      expect(
        await names({
          where: { level: { $select: { key: 'level', query: { className: '_User', where: { name: 'hidden' } } } } },
        }),
      ).toEqual([]);
    });

    it('do not look into a class that may not be queried by a sub-query', async () => {
      await gatepost(server(), 'permissions', 'set', app.id, '_Role', 'find', 'nobody');
      await eventually(async () => {
        const where = { level: { $select: { key: 'size', query: { className: '_Role', where: {} } } } };
        expect((await query(api, '_User', { where })).status).toBe(403);
      }, 3_000);
      await gatepost(server(), 'permissions', 'set', app.id, '_Role', 'find', 'everyone');
      await eventually(async () => {
        expect((await query(api, '_Role', {})).status).toBe(200);
      }, 3_000);
    });

    it.each([['password'], ['sessionToken'], ['authData.weixin.openid'], ['ACL'], ['salt']])(
      'cannot ask about %s, in whatever part of them',
      async (field) => {
        const inner = { className: '_User', where: { [field]: 'x' } };
        for (const params of [
          { where: { [field]: { $regex: '^a' } } },
          { where: { $or: [{ [field]: 'x' }, { level: 1 }] } },
          { where: [{ level: 1 }, { [field]: { $exists: true } }] },
          { where: { friend: { $inQuery: inner } } },
          { where: { friend: { $notInQuery: inner } } },
          { where: { level: { $select: { key: field, query: { className: '_User', where: {} } } } } },
          { order: field },
          { order: `-${field}` },
          { where: { [field]: 'x' }, count: '1', limit: '0' },
        ]) {
          const { status, body } = await query(api, '_User', params);
          expect([params, status, body['code']]).toEqual([params, 400, 102]);
        }
      },
    );

    it('find the roles of a user and the users of a role, as far as the caller sees them', async () => {
      const held = async (user: TestUser) => names({ where: { users: pointer('_User', user.id) } }, undefined, '_Role');
      expect([await held(ada!), await held(grace!)]).toEqual([['staff'], []]);
      const [staff] = (await query(master, '_Role', { where: { name: 'staff' } })).body['results'] as Json[];
      const [secret] = (await query(master, '_Role', { where: { name: 'secret' } })).body['results'] as Json[];
      const members = (role: Json | undefined) => ({
        $relatedTo: { object: pointer('_Role', String(role?.['objectId'])), key: 'users' },
      });
      expect(await names({ where: members(staff) })).toEqual(['ada']);
      const all = await query(master, '_User', { where: members(secret) });
      expect((all.body['results'] as Json[]).map(({ name }) => name)).toEqual(['grace']);
    });

    it('include what the caller may get, and leave a Pointer where he may not', async () => {
      const { body } = await query(api, '_User', { where: { name: 'grace' }, include: 'friend,friend.friend' });
      const [row] = body['results'] as { friend: Json }[];
      expect(row?.friend).toMatchObject({ ...pointer('_User', ada!.id), name: 'ada', level: 1 });
      expect(row?.friend['friend']).toEqual(pointer('_User', hidden!.id));
      expect(JSON.stringify(body)).not.toContain('sessionToken');
      const one = await api.get(`/1.1/users/${grace!.id}?include=friend&keys=friend.level`);
      expect(one.body['friend']).toEqual({ ...pointer('_User', ada!.id), level: 1 });
    });

    it('include all paths that go through one object', async () => {
      const fields = { a: pointer('_User', ada!.id), b: pointer('_User', ada!.id) };
      await api.put(`/1.1/users/${ada!.id}`, fields, { session: ada!.session });
      const { body } = await api.get(`/1.1/users/${grace!.id}?include=friend.a,friend.b`);
      expect(body['friend']).toMatchObject({ a: { name: 'ada' }, b: { name: 'ada' } });
    });

    it('refuse includes that would grow beyond any answer, at once', async () => {
      const crowd = Array.from({ length: 3_000 }, () => pointer('_User', ada!.id));
      await api.put(`/1.1/users/${ada!.id}`, { crowd }, { session: ada!.session });
      const { status, body } = await api.get(`/1.1/users/${ada!.id}?include=crowd.crowd.crowd`);
      expect([status, body['code']]).toEqual([400, 116]);
    });

    it('find places that are almost 0, and store numbers only as far as PostgreSQL can hold their digits', async () => {
      const nowhere = { __type: 'GeoPoint', latitude: 5e-324, longitude: 1e-200 };
      const session = ada!.session;
      const digits = Array.from({ length: 4_000 }, () => 1e308);
      const tooLarge = await api.put(`/1.1/users/${ada!.id}`, { digits }, { session });
      expect([tooLarge.status, tooLarge.body['code']]).toEqual([400, 116]);
      expect((await api.put(`/1.1/users/${ada!.id}`, { nowhere }, { session })).status).toBe(200);
      expect(await names({ where: { nowhere: { $nearSphere: nowhere } } })).toEqual(['ada']);
    });

    it.each([
      ['too many paths', { include: Array.from({ length: 11 }, (_, index) => `a${index}`).join(',') }, 102],
      ['too long a path', { include: 'a.b.c.d' }, 102],
      ['SQL in a path', { include: "friend'; --" }, 105],
      ['a path to a prototype', { include: 'constructor.prototype' }, 105],
    ])('refuse an include with %s', async (_, params, code) => {
      const { status, body } = await query(api, '_User', params);
      expect([status, body['code']]).toEqual([400, code]);
    });

    it.each([
      ['keys', Array.from({ length: 101 }, (_, index) => `k${index}`).join(','), 'keys: may have at most 100 names.'],
      ['keys', 'k'.repeat(257), 'keys.0: may have at most 256 characters.'],
      ['include', 'k'.repeat(1_025), 'include: may have at most 1024 characters.'],
      ['order', 'k'.repeat(1_025), 'order: may have at most 1024 characters.'],
    ])('name the limit that %s exceed', async (name, value, error) => {
      const { body } = await query(api, '_User', { [name]: value });
      expect(body).toEqual({ code: 111, error });
    });

    it('that cost too much are given up, and harm no other request', async () => {
      const evil = { where: { username: { $regex: '(a*)*b(a*)*c(a*)*d(x+x+)+y' } } };
      const started = performance.now();
      const [slow, quick] = await Promise.all([
        query(api, '_User', evil),
        api.get('/1.1/users/me', { session: ada!.session }),
      ]);
      expect(performance.now() - started).toBeLessThan(5_000);
      expect(quick.status).toBe(200);
      expect([200, 400]).toContain(slow.status);
    });

    it('as conditions of a write are given up much sooner, for writes share what logins need', async () => {
      await api.put(`/1.1/users/${ada!.id}`, { crowd: [], text: 'a'.repeat(900_000) }, { session: ada!.session });
      const where = encodeURIComponent(JSON.stringify({ text: { $regex: '(?=.*(?=.*(?=.*(?=.*b))))' } }));
      const started = performance.now();
      const { status, body } = await api.put(`/1.1/users/${ada!.id}?where=${where}`, {}, { session: ada!.session });
      expect([status, body['code']]).toEqual([400, 124]);
      expect(performance.now() - started).toBeLessThan(2_000);
    });

    it('compare phone numbers in their international form', async () => {
      const mobilePhoneNumber = uniquePhone();
      const { id } = await signUp(api, { mobilePhoneNumber, ACL: {} });
      const national = mobilePhoneNumber.slice('+86'.length);
      for (const condition of [national, mobilePhoneNumber, { $in: [national] }]) {
        const { body } = await query(master, '_User', { where: { mobilePhoneNumber: condition } });
        expect((body['results'] as Json[]).map(({ objectId }) => objectId)).toEqual([id]);
      }
    });

    it('hide contact from where, order, keys and answers while hideContact is on', async () => {
      await setSetting(server(), app, 'hideContact', 'true');
      await eventually(async () => {
        const { status, body } = await query(api, '_User', { where: { email: { $exists: true } } });
        expect([status, body['code']]).toEqual([400, 102]);
      }, 3_000);
      const selected = (key: string) => ({ $select: { key, query: { className: '_User', where: {} } } });
      for (const params of [
        { order: 'email' },
        { where: { mobilePhoneNumber: { $regex: '^' } } },
        // The username of a user that signed up by phone is the number.
        ...['username', '-username', 'level,username'].map((order) => ({ order })),
        ...[{ $regex: '^\\+86138' }, { $gt: '+86138' }, { $lte: '+86139' }, { $exists: true }, { $all: ['x'] }].map(
          (test) => ({ where: { username: test } }),
        ),
        ...[{ $size: 1 }, selected('name'), { $dontSelect: selected('name').$select }].map((test) => ({
          where: { $or: [{ username: test }, { level: 1 }] },
        })),
        { where: { name: selected('username') } },
        { where: { friend: { $inQuery: { className: '_User', where: { username: { $regex: '^' } } } } } },
        { where: { friend: { $inQuery: { className: '_User', where: {}, order: 'username' } } } },
      ]) {
        const { status, body } = await query(api, '_User', params);
        expect([params, status, body['code']]).toEqual([params, 400, 102]);
      }
      const { id: byPhone, username } = await signUp(api, { username: uniquePhone(), name: 'phone' });
      for (const whole of [username, { $in: [username, 'x'] }])
        expect([whole, await names({ where: { username: whole } })]).toEqual([whole, ['phone']]);
      for (const other of [{ $ne: username }, { $nin: [username] }])
        expect([other, await names({ where: { username: other, objectId: byPhone } })]).toEqual([other, []]);
      expect(await names({ where: { username: { $in: ['x'] } } })).toEqual([]);
      for (const params of [{ order: 'username' }, { where: { username: { $regex: '^\\+86' } } }])
        expect((await query(master, '_User', params)).status).toBe(200);
      const own = `/1.1/users/${ada!.id}?where=${encodeURIComponent('{"username":{"$regex":"^a"}}')}`;
      expect((await api.put(own, {}, { session: ada!.session })).body['code']).toBe(102);
      await master.delete(`/1.1/users/${byPhone}`);
      const { body } = await query(api, '_User', { keys: 'email,name' });
      expect(JSON.stringify(body)).not.toContain('@');
      const self = await query(api, '_User', { where: { name: 'ada' } }, ada!.session);
      expect(JSON.stringify(self.body)).toContain('@');
      expect((await query(master, '_User', { where: { email: { $exists: true } } })).status).toBe(200);
      await setSetting(server(), app, 'hideContact', 'false');
    });

    it('serve the SDK: conditions, order, pages, sub-queries, includes and counts', async () => {
      AV.init({ appId: app.id, appKey: app.appKey, serverURL: server().baseUrls[0] ?? '' });
      const users = () => new AV.Query('_User');
      const found = async (wanted: AV.Query<AV.Queriable>) =>
        (await wanted.find()).map((user) => (user as AV.User).get('name') as string);
      expect(await found(users().greaterThan('level', 1))).toEqual(['grace']);
      expect(await found(users().startsWith('name', 'gr'))).toEqual(['grace']);
      expect(await found(users().contains('name', 'd'))).toEqual(['ada']);
      expect(await found(users().containedIn('level', [1, 2]).descending('level'))).toEqual(['grace', 'ada']);
      expect(
        await found(
          AV.Query.or(users().equalTo('level', 1), users().equalTo('level', 2)).ascending('name').limit(1).skip(1),
        ),
      ).toEqual(['grace']);
      expect(await found(users().matchesQuery('friend', users().equalTo('name', 'ada')))).toEqual(['grace']);
      expect(await found(users().doesNotExist('friend'))).toEqual([]);
      expect(await users().count()).toBe(2);
      const grace = await users().equalTo('name', 'grace').include('friend').first();
      expect(((grace as AV.User).get('friend') as AV.User).get('name')).toBe('ada');
      const staff = await new AV.Query(AV.Role).equalTo('name', 'staff').first();
      expect(await found(staff!.getUsers().query())).toEqual(['ada']);
      // Without the role's fields the SDK does not know the class of the relation, and sends redirectClassNameForKey.
      const unread: AV.Role = AV.Object.createWithoutData('_Role', String(staff?.id));
      const [member] = (await unread.getUsers().query().find()) as AV.Object[];
      expect([member?.className, member?.get('name')]).toEqual(['_User', 'ada']);
    });
  });

  describe('scans of a class, by the master key', () => {
    let app: AppKeys;
    let master: ApiClient;
    let ids: string[];
    const scan = (className: string, params: Record<string, string>, client = master) =>
      client.get(`/1.1/scan/classes/${className}?${new URLSearchParams(params).toString()}`);

    beforeAll(async () => {
      app = await createApplication(server());
      const baseUrl = server().baseUrls[0] ?? '';
      master = ApiClient.forMaster(baseUrl, app);
      const api = ApiClient.forApp(baseUrl, app);
      await eventually(async () => {
        expect((await scan('_User', {})).status).toBe(200);
      });
      const users = await Promise.all(Array.from({ length: 5 }, (_, level) => signUp(api, { level })));
      ids = users.map(({ id }) => id).sort();
    });

    it('read each object once, as the SDK asks for them', async () => {
      AV.init({ ...app, appId: app.id, serverURL: server().baseUrls[0] ?? '' });
      const scanned = new AV.Query('_User').scan({ batchSize: 2 }, { useMasterKey: true });
      const found: string[] = [];
      for (let step = await scanned.next(); !step.done; step = await scanned.next()) found.push(step.value.id ?? '');
      expect(found.sort()).toEqual(ids);
    });

    it('take conditions, keys and a limit, and end with a cursor that is null', async () => {
      const where = JSON.stringify({ level: { $gt: 2 } });
      const first = (await scan('_User', { where, keys: 'level', limit: '1' })).body as {
        results: Json[];
        cursor: string;
      };
      expect(Object.keys(first.results[0] ?? {}).sort()).toEqual(['createdAt', 'level', 'objectId', 'updatedAt']);
      const second = (await scan('_User', { where, limit: '1', cursor: first.cursor })).body as typeof first;
      expect((await scan('_User', { where, limit: '1', cursor: second.cursor })).body).toEqual({
        results: [],
        cursor: null,
      });
      expect([...first.results, ...second.results].map(({ level }) => level).sort()).toEqual([3, 4]);
      for (const className of ['_Role', '_Installation'])
        expect((await scan(className, {})).body).toEqual({ results: [], cursor: null });
    });

    it.each<[string, string, number]>([
      ['as many as there may be', JSON.stringify(Array.from({ length: 100 }, () => ({ level: { $gt: 1 } }))), 3],
      ['a list', '[{"level":{"$gt":1}},{"level":{"$lt":4}}]', 2],
      ['an empty list', '[]', 5],
      ['null', 'null', 5],
    ])('take conditions on each page that are %s', async (_, where, count) => {
      let cursor: string | null = '';
      for (let page = 1; page <= count; page += 1) {
        const params: Record<string, string> = { where, limit: '1', ...(cursor === '' ? {} : { cursor }) };
        const { body } = await scan('_User', params);
        expect(body).toMatchObject({ results: [{ objectId: expect.any(String) as string }] });
        ({ cursor } = body as { cursor: string });
      }
      expect((await scan('_User', { where, limit: '1', cursor })).body).toEqual({ results: [], cursor: null });
    });

    it('count nothing, so that no page is empty', async () => {
      const { body } = await scan('_User', { limit: '0', count: '1' });
      expect(body).toEqual((await scan('_User', {})).body);
      expect(body['results']).toHaveLength(ids.length);
    });

    it.each<[string, string, Record<string, string>, [number, number]]>([
      ['another key', '_User', { scan_key: 'level' }, [400, 102]],
      ['a cursor that is none', '_User', { cursor: "a'b" }, [400, 102]],
      ['a cursor without a time', '_User', { cursor: `9999-99-99T00:00:00.000Z_${'a'.repeat(24)}` }, [400, 102]],
      ['an unknown class', '_Unknown', {}, [404, 101]],
    ])('refuse %s', async (...[, className, params, expected]) => {
      expect(await refusal(scan(className, params))).toEqual(expected);
    });

    it('refuse the application key', async () => {
      const api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      expect((await scan('_User', {}, api)).body).toEqual({ code: 403, error: 'A scan needs the master key.' });
    });
  });
}
