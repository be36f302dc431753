import AV from 'leancloud-storage';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  type ApiReply,
  appClient,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  unique,
} from '#testing';
import { refusal } from './refusal.js';

const MISSING_ID = 'f'.repeat(24);

const where = (condition: unknown) => `where=${encodeURIComponent(JSON.stringify(condition))}`;
const newDevice = () => unique('device');
const newToken = () => unique('').replaceAll('-', '').repeat(6).slice(0, 64);
const idOf = ({ body }: ApiReply) => String(body['objectId']);
const pointer = (objectId: string) => ({ __type: 'Pointer', className: '_User', objectId });
const channelOp = (operation: string, ...objects: unknown[]) => ({ channels: { __op: operation, objects } });

/** The class `_Installation` (specification, Installation). */
export function describeInstallations(server: () => GatepostServer): void {
  describe.each(['/1.1/installations', '/1.1/classes/_Installation'])('installations at %s', (path) => {
    let api: ApiClient;
    let master: ApiClient;
    beforeAll(() => {
      [api, master] = [appClient(server()), masterClient(server())];
    });
    const register = async (fields: Json = {}) => {
      const reply = await api.post(path, { installationId: newDevice(), deviceType: 'android', ...fields });
      expect([200, 201]).toContain(reply.status);
      return idOf(reply);
    };
    const stateOf = async (id: string) => (await master.get(`${path}/${id}`)).body;
    const find = async (condition: unknown) =>
      (await master.get(`${path}?${where(condition)}`)).body['results'] as Json[];

    it('are made once, and found again by every later registration', async () => {
      const installationId = newDevice();
      const fields = { installationId, deviceType: 'web', channels: ['news'], level: 1 };
      const first = await api.post(path, fields);
      expect([first.status, Object.keys(first.body).sort()]).toEqual([201, ['createdAt', 'objectId']]);
      expect(first.headers.get('location')).toMatch(new RegExp(`/1.1/installations/${idOf(first)}$`));
      const again = await api.post(path, { installationId, level: 2 });
      expect([again.status, Object.keys(again.body).sort()]).toEqual([200, ['createdAt', 'objectId', 'updatedAt']]);
      expect([idOf(again), again.headers.get('location')]).toEqual([idOf(first), first.headers.get('location')]);
      const { body } = await api.get(`${path}/${idOf(first)}`);
      expect(body).toEqual({ ...again.body, ...fields, level: 2, valid: true });
      expect(Date.parse(String(body['updatedAt']))).toBeGreaterThan(Date.parse(String(body['createdAt'])));
      expect(await find({ installationId })).toHaveLength(1);
    });

    it('answer with fetchWhenSave all of a new one, and of another what the request named', async () => {
      const installationId = newDevice();
      const fields = { installationId, deviceType: 'web', valid: false, ACL: { '*': { read: true, write: true } } };
      const first = await api.post(`${path}?fetchWhenSave=true`, fields);
      expect(first.body).toEqual({ ...first.body, ...fields });
      const again = await api.post(`${path}?new=true`, { installationId, level: 2 });
      expect(Object.keys(again.body).sort()).toEqual(['createdAt', 'installationId', 'level', 'objectId', 'updatedAt']);
    });

    it('may name their own type and class, as older Swift SDKs do, and no other', async () => {
      const own = { __type: 'Object', className: '_Installation' };
      const installationId = newDevice();
      const id = await register({ installationId, ...own });
      expect((await api.put(`${path}/${id}`, { ...own, level: 1 })).status).toBe(200);
      const body = { __internalId: id, ...own, level: 2 };
      const joint = { requests: [{ method: 'PUT', path: `/1.1/installations/${id}`, body }] };
      expect((await api.post('/1.1/batch/save', joint)).body).toMatchObject({ [id]: { objectId: id } });
      const state = await stateOf(id);
      expect(state).toMatchObject({ installationId, level: 2 });
      expect(Object.keys(own).filter((key) => key in state)).toEqual([]);
      for (const [other, code] of [
        [{ className: '_User' }, 117],
        [{ __type: 'Pointer' }, 105],
      ] as const)
        expect(await refusal(api.put(`${path}/${id}`, { ...own, ...other }))).toEqual([400, code]);
    });

    it('are known by the headers of older libraries', async () => {
      const { app } = server();
      const older = api.as({ 'x-avoscloud-application-id': app.id, 'x-avoscloud-application-key': app.appKey });
      const { status } = await older.post(path, { installationId: newDevice(), deviceType: 'web' });
      expect(status).toBe(201);
    });

    it('without a name are known by type and token together', async () => {
      const deviceToken = newToken();
      const ios = await api.post(path, { deviceType: 'ios', deviceToken, badge: 1 });
      const other = await api.post(path, { deviceType: 'tvos', deviceToken });
      expect([ios.status, other.status, idOf(ios) === idOf(other)]).toEqual([201, 201, false]);
      const again = await api.post(path, { deviceType: 'ios', deviceToken, badge: { __op: 'Increment', amount: 1 } });
      expect([again.status, idOf(again), (await stateOf(idOf(ios)))['badge']]).toEqual([200, idOf(ios), 2]);
    });

    it('get a name, and another one after a reinstallation, under the same id', async () => {
      const token = { deviceType: 'ios', deviceToken: newToken() };
      const id = idOf(await api.post(path, token));
      const names = [newDevice(), newDevice()];
      for (const installationId of names) expect(idOf(await api.post(path, { ...token, installationId }))).toBe(id);
      expect([await find({ installationId: names[0] }), (await stateOf(id))['installationId']]).toEqual([[], names[1]]);
    });

    it('that turn out to be one device become one: that of the installationId', async () => {
      const [installationId, token] = [newDevice(), { deviceType: 'ios', deviceToken: newToken() }];
      const named = idOf(await api.post(path, { installationId, channels: ['kept'] }));
      const other = idOf(await api.post(path, { ...token, channels: ['gone'] }));
      expect(idOf(await api.post(path, { ...token, installationId }))).toBe(named);
      expect(await stateOf(named)).toMatchObject({ ...token, installationId, channels: ['kept'] });
      expect(await stateOf(other)).toEqual({});

      const third = idOf(await api.post(path, { installationId: newDevice() }));
      expect((await api.put(`${path}/${third}`, token)).status).toBe(200);
      expect([await stateOf(named), (await stateOf(third))['deviceToken']]).toEqual([{}, token.deviceToken]);
    });

    it('are found by the id in a registration, unless that is another device now or gone', async () => {
      const id = idOf(await api.post(path, { deviceType: 'ios', deviceToken: newToken() }));
      const deviceToken = newToken();
      expect(idOf(await api.post(path, { objectId: id, deviceType: 'ios', deviceToken }))).toBe(id);
      expect((await stateOf(id))['deviceToken']).toBe(deviceToken);

      const named = await register();
      const restored = await api.post(path, { objectId: named, installationId: newDevice() });
      expect([restored.status, idOf(restored) === named]).toEqual([201, false]);
      const renewed = await api.post(path, { objectId: MISSING_ID, deviceType: 'ios', deviceToken: newToken() });
      expect([renewed.status, idOf(renewed) === MISSING_ID]).toEqual([201, false]);
    });

    it('join and leave channels, each once', async () => {
      const id = await register({ channels: [''] });
      const put = async (changes: Json) => (await api.put(`${path}/${id}?new=true`, changes)).body['channels'];
      expect(await put(channelOp('AddUnique', 'news', '体育', 'news'))).toEqual(['', 'news', '体育']);
      expect(await put(channelOp('Remove', 'news', 'never'))).toEqual(['', '体育']);
      expect(await put({ channels: ['a-b=c_D'] })).toEqual(['a-b=c_D']);
      expect(await put({ channels: { __op: 'Delete' } })).toBeUndefined();
      expect(await put(channelOp('Add', 'again'))).toEqual(['again']);
      expect(await put({ channels: null })).toBeUndefined();
    });

    const wrongFields: [string, Json, number][] = [
      ['a name that is a number', { installationId: 7 }, 111],
      ['a name of 129 letters', { installationId: 'i'.repeat(129) }, 111],
      ['a type that is none', { deviceType: 'i os' }, 111],
      ['a token with a space', { deviceToken: 'a b' }, 114],
      ['a token that is a number', { deviceToken: 7 }, 114],
      ['a token of 1025 letters', { deviceToken: 't'.repeat(1025) }, 114],
      ['valid that is no truth value', { valid: 'true' }, 111],
      ['a channel with a space', { channels: ['good', 'not good'] }, 112],
      ['a channel that is a number', { channels: [7] }, 112],
      ['a wrong channel in an operation', channelOp('AddUnique', 'no!'), 112],
      ['channels that are text', { channels: 'news' }, 111],
      ['channels that are counted', { channels: { __op: 'Increment', amount: 1 } }, 111],
      ['a part of the channels', { 'channels.0': 'news' }, 105],
      ['a part of the ACL', { 'ACL.*': { read: true } }, 105],
      ['a field name with a quote', { "a'": 1 }, 105],
      ['a pointer without an id', { owner: { __type: 'Pointer' } }, 106],
      ['a nested name with $', { a: { $b: 1 } }, 121],
      ['an ACL with a text', { ACL: { '*': { read: 'no' } } }, 123],
      ['a relation', { users: { __op: 'AddRelation', objects: [] } }, 128],
      ['a time of the server', { createdAt: '2026-01-01T00:00:00.000Z' }, 117],
    ];
    it.each(wrongFields)('refuse %s, and nothing changes', async (_, fields, code) => {
      const installationId = newDevice();
      expect(await refusal(api.post(path, { installationId, deviceType: 'web', ...fields }))).toEqual([400, code]);
      expect(await find({ installationId })).toEqual([]);
      const id = await register({ level: 1 });
      const before = await stateOf(id);
      expect(await refusal(api.put(`${path}/${id}`, { level: 2, ...fields }))).toEqual([400, code]);
      expect(await stateOf(id)).toEqual(before);
    });

    it('may not grow over the limit: 116', async () => {
      const numbers = Array.from({ length: 100_000 }, () => '1e20').join(',');
      const text = `{"installationId": "${newDevice()}", "numbers": [${numbers}]}`;
      expect(await refusal(api.post(path, text))).toEqual([400, 116]);
    });

    it('need something that leads to the device, and a token its type: 113', async () => {
      for (const fields of [{}, { deviceType: 'ios' }, { deviceToken: newToken() }, { installationId: '' }])
        expect(await refusal(api.post(path, fields))).toEqual([400, 113]);
      const id = await register();
      expect(await refusal(api.put(`${path}/${id}`, { installationId: null }))).toEqual([400, 113]);
      expect((await stateOf(id))['installationId']).toBeDefined();
      expect(await refusal(api.post(path, { installationId: newDevice(), objectId: 'a!' }))).toEqual([400, 117]);
      expect(await refusal(api.put(`${path}/${id}`, { objectId: id }))).toEqual([400, 117]);
    });

    it('are changed where a condition is met, else not: 305', async () => {
      const id = await register({ level: 1 });
      const put = (condition: unknown) => api.put(`${path}/${id}?${where(condition)}&new=true`, { level: 2 });
      expect(await refusal(put({ level: 7 }))).toEqual([400, 305]);
      const { status, body } = await put({ level: 1, deviceType: 'android' });
      expect([status, Object.keys(body).sort(), body['level']]).toEqual([200, ['level', 'objectId', 'updatedAt'], 2]);
      expect(await refusal(master.delete(`${path}/${id}?${where({ level: 1 })}`))).toEqual([400, 305]);
      expect((await master.delete(`${path}/${id}?${where({ level: 2 })}`)).body).toEqual({});
    });

    it('that the caller may not read answer no condition, and show no value', async () => {
      const ACL = { '*': { write: true } };
      const installationId = newDevice();
      const id = await register({ installationId, level: 1, ACL });
      for (const condition of [{ installationId: { $regex: '^d' } }, { level: 7 }])
        expect(await refusal(api.put(`${path}/${id}?${where(condition)}`, {}))).toEqual([404, 101]);
      const level = { __op: 'Increment', amount: 1 };
      const changed = await api.put(`${path}/${id}?new=true`, { level });
      expect([changed.status, Object.keys(changed.body).sort()]).toEqual([200, ['objectId', 'updatedAt']]);
      const registered = await api.post(`${path}?new=true`, { installationId, level });
      expect([registered.status, Object.keys(registered.body).sort()]).toEqual([
        200,
        ['createdAt', 'objectId', 'updatedAt'],
      ]);
      expect(await stateOf(id)).toMatchObject({ level: 3, installationId });
      expect((await api.put(`${path}/${id}?new=true`, { level, ACL: { '*': { read: true } } })).body['level']).toBe(4);
    });

    it('that do not exist: {} when read, 101 when written', async () => {
      expect((await api.get(`${path}/${MISSING_ID}`)).body).toEqual({});
      expect(await refusal(api.put(`${path}/${MISSING_ID}`, { a: 1 }))).toEqual([404, 101]);
      expect(await refusal(master.delete(`${path}/${MISSING_ID}`))).toEqual([404, 101]);
      for (const wrong of ['a!b', 'x'.repeat(65)]) expect((await api.get(`${path}/${wrong}`)).status).toBe(404);
    });

    it('go several at once, all or none', async () => {
      const [one, two] = [await register(), await register()];
      expect(await refusal(master.delete(`${path}/${one},${MISSING_ID}`))).toEqual([404, 101]);
      expect((await stateOf(one))['objectId']).toBe(one);
      expect((await master.delete(`${path}/${one},${two}`)).body).toEqual({});
      expect([await stateOf(one), await stateOf(two)]).toEqual([{}, {}]);
    });

    it('cannot be listed, counted or deleted with the application key, whatever the way', async () => {
      const user = await signUp(api);
      const id = await register({ group: unique('hidden') });
      const queries = ['', '?count=1&limit=0', `?${where({ objectId: id })}`, '?keys=objectId&order=-createdAt'];
      for (const session of [undefined, user.session]) {
        for (const query of queries) expect(await refusal(api.get(`${path}${query}`, { session }))).toEqual([403, 403]);
        expect(await refusal(api.delete(`${path}/${id}`, { session }))).toEqual([403, 403]);
      }
      const requests = [
        { method: 'GET', path },
        { method: 'DELETE', path: `${path}/${id}` },
      ];
      const { body } = await api.post('/1.1/batch', { requests });
      expect(body).toMatchObject([{ error: { code: 403 } }, { error: { code: 403 } }]);
      const form = { _method: 'GET', _ApplicationId: server().app.id, _ApplicationKey: server().app.appKey };
      const asText = api.as({}).post(path, form, { headers: { 'content-type': 'text/plain' } });
      expect(await refusal(asText)).toEqual([403, 403]);
      const subQuery = { owner: { $inQuery: { className: '_Installation', where: {} } } };
      expect(await refusal(api.put(`${path}/${id}?${where(subQuery)}`, { a: 1 }))).toEqual([403, 403]);
      expect((await stateOf(id))['a']).toBeUndefined();
    });

    it('are listed with the master key, as any other class', async () => {
      const group = unique('group');
      const ids = [
        await register({ group, level: 2, channels: ['news', 'sport'] }),
        await register({ group, level: 1, channels: ['news'], valid: false }),
        await register({ group, level: 3, deviceType: 'ios', ACL: {} }),
      ];
      const list = async (query: string) => (await master.get(`${path}?${query}`)).body;
      const found = async (condition: Json) => (await find({ group, ...condition })).map(({ objectId }) => objectId);
      expect(await found({})).toEqual(ids);
      expect(await found({ channels: 'news' })).toEqual(ids.slice(0, 2));
      expect(await found({ channels: { $all: ['sport', 'news'] } })).toEqual([ids[0]]);
      expect(await found({ valid: true, deviceType: { $in: ['ios', 'web'] } })).toEqual([ids[2]]);
      const condition = where({ group });
      expect(await list(`${condition}&count=1&limit=0`)).toEqual({ results: [], count: 3 });
      const page = await list(`${condition}&order=-level&limit=1&skip=1&keys=level&count=1`);
      expect(page).toMatchObject({ results: [{ objectId: ids[0], level: 2 }], count: 3 });
      expect(Object.keys((page['results'] as Json[])[0] ?? {}).sort()).toEqual([
        'createdAt',
        'level',
        'objectId',
        'updatedAt',
      ]);
      expect((await list(where({ objectId: ids[2] })))['results']).toMatchObject([{ ACL: {} }]);
    });

    it.each([
      ['the ACL', where({ ACL: null }), 102],
      ['users', where({ owner: { $inQuery: { className: '_User', where: {} } } }), 102],
      ['a field of users', where({ a: { $select: { key: 'b', query: { className: '_Role', where: {} } } } }), 102],
    ])('refuse questions about %s', async (_, query, code) => {
      expect(await refusal(master.get(`${path}?${query}`))).toEqual([400, code]);
    });

    it('include users, and roles of users, as the caller may get them', async () => {
      const [ada, grace] = [await signUp(api, { city: 'London' }), await signUp(api)];
      await api.put(`/1.1/users/${grace.id}`, { friend: pointer(ada.id) }, { session: grace.session });
      await api.put(`/1.1/users/${grace.id}`, { ACL: { [grace.id]: { read: true, write: true } } }, grace);
      const id = await register({ user: pointer(ada.id), users: [pointer(grace.id), pointer(MISSING_ID)], level: 1 });
      const one = (await api.get(`${path}/${id}?include=user`)).body;
      expect(one).toMatchObject({ level: 1, user: { __type: 'Pointer', className: '_User', city: 'London' } });
      expect(one['user']).not.toHaveProperty('sessionToken');
      const query = `${where({ objectId: id })}&include=user,users.friend&keys=user.city,users&count=1`;
      const { results, count } = (await master.get(`${path}?${query}`)).body as { results: Json[]; count: number };
      expect([count, results[0]]).toMatchObject([
        1,
        {
          user: { city: 'London' },
          users: [{ username: grace.username, friend: { city: 'London' } }, pointer(MISSING_ID)],
        },
      ]);
      expect(Object.keys(results[0] ?? {}).sort()).toEqual(['createdAt', 'objectId', 'updatedAt', 'user', 'users']);
      // Her ACL hides Grace from others.
      expect((await api.get(`${path}/${id}?include=users`)).body['users']).toEqual([
        pointer(grace.id),
        pointer(MISSING_ID),
      ]);
      expect((await api.get(`${path}/${MISSING_ID}?include=user`)).body).toEqual({});
    });

    it('are hidden and kept by their ACL', async () => {
      const [ada, grace] = [await signUp(api), await signUp(api)];
      const installationId = newDevice();
      const id = await register({ installationId, ACL: { [ada.id]: { read: true, write: true } } });
      for (const session of [undefined, 'unknown', grace.session]) {
        expect((await api.get(`${path}/${id}`, { session })).body).toEqual({});
        for (const reply of [
          await api.put(`${path}/${id}`, { level: 1 }, { session }),
          await api.post(path, { installationId, level: 1 }, { session }),
        ])
          expect([reply.status, reply.body]).toEqual([403, { code: 403, error: "Forbidden writing by object's ACL." }]);
      }
      const token = { deviceType: 'ios', deviceToken: newToken() };
      expect((await api.put(`${path}/${id}`, token, { session: ada.session })).status).toBe(200);
      // Another client cannot take over a device by its token either.
      expect(await refusal(api.post(path, { installationId: newDevice(), ...token }))).toEqual([403, 403]);
      const { body } = await api.get(`${path}/${id}?returnACL=true&keys=ACL,deviceToken`, { session: ada.session });
      expect(body).toMatchObject({ ACL: { [ada.id]: { write: true } }, deviceToken: token.deviceToken });
      expect((await api.get(`${path}/${id}`, { session: ada.session })).body['ACL']).toBeUndefined();
    });

    it('of another application are not there', async () => {
      const id = await register();
      expect(await find({ objectId: id })).toHaveLength(1);
      expect((await api.as({ 'x-lc-id': 'other', 'x-lc-key': 'other' }).get(`${path}/${id}`)).status).toBe(401);
    });
  });

  describe('installations saved together', () => {
    let master: ApiClient;
    beforeAll(() => {
      master = masterClient(server());
    });
    const save = (...requests: Json[]) => appClient(server()).post('/1.1/batch/save', { requests });
    const registration = (fields: Json): Json => ({
      method: 'POST',
      path: '/1.1/installations',
      body: { __internalId: unique('client'), __children: [], ...fields },
    });
    const countOf = async (condition: Json) =>
      (await master.get(`/1.1/installations?limit=0&count=1&${where(condition)}`)).body['count'];

    it('as Swift saves its own: always registered, later with the id in the body', async () => {
      const device = { deviceType: 'ios', deviceToken: newToken(), apnsTeamId: 'TEAM', timeZone: 'Europe/Berlin' };
      const first = await save(registration({ __internalId: 'client-1', ...device }));
      const { objectId, createdAt } = (first.body['client-1'] ?? {}) as Json;
      expect([first.status, typeof createdAt]).toEqual([200, 'string']);
      const moved = { ...device, deviceToken: newToken(), objectId };
      const again = await save(registration({ __internalId: objectId, ...moved }));
      expect(Object.keys(again.body[String(objectId)] as Json).sort()).toEqual(['createdAt', 'objectId', 'updatedAt']);
      expect((await master.get(`/1.1/installations/${String(objectId)}`)).body).toMatchObject(moved);
      expect(await countOf({ deviceToken: device.deviceToken })).toBe(0);
    });

    it('are saved in their order, registrations and changes, under both paths', async () => {
      const installationId = newDevice();
      const { body } = await appClient(server()).post('/1.1/installations', { installationId, level: 1 });
      const id = String(body['objectId']);
      const put = (fields: Json) => ({ method: 'PUT', path: `/1.1/classes/_Installation/${id}`, body: fields });
      const saved = await save(
        { ...put({ level: { __op: 'Increment', amount: 1 } }), new: true },
        { ...registration({ __internalId: id, installationId, ...channelOp('AddUnique', 'news') }), new: true },
      );
      expect(saved).toMatchObject({ status: 200, body: { [id]: { objectId: id, level: 2, channels: ['news'] } } });
      const other = await appClient(server()).post('/1.1/installations', { installationId: newDevice() });
      const mixed = { ...put({ level: 9 }), path: `/1.1/installations/${String(other.body['objectId'])}` };
      const two = await save(put({ level: 9 }), { ...mixed, body: { __internalId: id, level: 9 } });
      expect(two).toMatchObject({ status: 400, body: { code: 107 } });
      const both = await save(put({ level: 5 }), { ...put({ level: { __op: 'Increment', amount: 1 } }), new: true });
      expect(both.body).toMatchObject({ [id]: { objectId: id, level: 6 } });
    });

    it('as Objective-C and Swift save one with several changes of its channels: registered by each request', async () => {
      const device = { deviceType: 'ios', deviceToken: newToken(), apnsTeamId: 'TEAM' };
      const newborn = { ...device, __internalId: 'client-2' };
      const first = await save(
        { ...registration({ ...newborn, channels: ['old'] }), new: true },
        { ...registration({ ...newborn, ...channelOp('AddUnique', 'news') }), new: true },
      );
      expect(first).toMatchObject({ status: 200, body: { 'client-2': { channels: ['old', 'news'] } } });
      const { objectId } = first.body['client-2'] as Json;
      const known = { ...device, __internalId: objectId, objectId };
      const again = await save(
        registration({ ...known, ...channelOp('Remove', 'old') }),
        registration({ ...known, ...channelOp('AddUnique', 'sport') }),
      );
      expect(again).toMatchObject({ status: 200, body: { [String(objectId)]: { objectId } } });
      const { body } = await master.get(`/1.1/installations/${String(objectId)}`);
      expect([body['channels'], await countOf({ deviceToken: device.deviceToken })]).toEqual([['news', 'sport'], 1]);
    });

    it.each<[string, () => Json, number]>([
      ['a wrong channel', () => registration({ installationId: newDevice(), channels: ['not good'] }), 112],
      ['nothing that leads to it', () => registration({ deviceType: 'ios' }), 113],
      ['a wrong token', () => registration({ deviceType: 'ios', deviceToken: 'a b' }), 114],
      ['an unknown id', () => ({ method: 'PUT', path: `/1.1/installations/${MISSING_ID}`, body: {} }), 101],
    ])('all or none: refused for one with %s', async (_, make, code) => {
      const installationId = newDevice();
      const { body } = await save(registration({ installationId }), make());
      expect([body['code'], await countOf({ installationId })]).toEqual([code, 0]);
    });

    it.each<[string, () => Json[]]>([
      [
        'a user',
        () => [{ method: 'POST', path: '/1.1/users', body: { __internalId: 'u', username: unique('joint') } }],
      ],
      ['a Pointer to another one', () => [registration({ __children: [{ className: 'A', cid: 'b', key: 'c' }] })]],
    ])('are refused with %s: nothing is saved', async (_, others) => {
      const installationId = newDevice();
      expect(await refusal(save(registration({ installationId }), ...others()))).toEqual([400, 1]);
      expect(await countOf({ installationId })).toBe(0);
    });
  });

  describe('the SDK with installations', () => {
    it('saves one, changes its channels, and is refused the others', async () => {
      const { app, baseUrls } = server();
      AV.init({ appId: app.id, appKey: app.appKey, serverURL: baseUrls[0] ?? '' });
      const installationId = newDevice();
      const first = installationWith({ installationId, deviceType: 'web', channels: ['news'] });
      await first.save();
      const again = installationWith({ installationId, deviceType: 'web' });
      again.addUnique('channels', 'sport');
      await again.save(null, { fetchWhenSave: true });
      expect([again.id, again.get('channels')]).toEqual([first.id, ['news', 'sport']]);
      again.remove('channels', 'news');
      await again.save();
      const fetched = AV.Object.createWithoutData('_Installation', first.id ?? '');
      await fetched.fetch();
      expect([fetched.get('channels'), fetched.get('valid')]).toEqual([['sport'], true]);
      await expect(new AV.Query('_Installation').find()).rejects.toMatchObject({ code: 403 });
      await expect(fetched.destroy()).rejects.toMatchObject({ code: 403 });
      const many = [newDevice(), newDevice()].map((name) => installationWith({ installationId: name }));
      await AV.Object.saveAll(many);
      expect(new Set(many.map(({ id }) => id)).size).toBe(2);
    });
  });
}

function installationWith(fields: Json): AV.Installation {
  const installation = new AV.Installation();
  for (const [name, value] of Object.entries(fields)) installation.set(name, value);
  return installation;
}
