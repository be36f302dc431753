import AV from 'leancloud-storage';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  type ApiReply,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  setSetting,
  unique,
} from '#testing';
import { expectRefused, refusal } from './refusal.js';

const data = { alert: 'hello' };
const TOMORROW = () => new Date(Date.now() + 24 * 3_600_000).toISOString();
const short = () => unique('r').replaceAll(/\W/g, '').slice(0, 16);

/** Pushes as applications request them, and the reports about them. */
export function describePushRequests(server: () => GatepostServer): void {
  describe('pushes', () => {
    let [api, master]: ApiClient[] = [];
    beforeAll(() => {
      [api, master] = [appClient(server()), masterClient(server())];
    });
    const client = () => api ?? appClient(server());
    const owner = () => master ?? masterClient(server());
    const register = async (fields: Json = {}) => {
      const installationId = unique('device');
      const { status } = await client().post('/1.1/installations', { deviceType: 'web', installationId, ...fields });
      expect(status).toBe(201);
      return installationId;
    };
    const send = async (body: Json) => {
      const { status, body: answer } = await owner().post('/1.1/push', { data, ...body });
      expect([status, Object.keys(answer).sort()]).toEqual([200, ['createdAt', 'objectId']]);
      return String(answer['objectId']);
    };
    const record = async (id: string) => (await client().get(`/1.1/tables/Notifications/${id}`)).body;
    const untilQueued = (id: string, targeted: number) =>
      eventually(async () => {
        const { status, devices, platforms } = await record(id);
        expect([status, devices]).toEqual(['done', targeted]);
        return platforms as Record<string, Json>;
      });

    it('give browsers a public key where the application has credentials for Web Push', async () => {
      const app = await createApplication(server());
      const own = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      const key = () => own.get('/1.1/push/webPushKey');
      await eventually(async () => {
        expect(await refusal(key())).toEqual([404, 101]);
      });
      const set = await gatepost(server(), 'vendors', 'set', app.id, 'web-push', 'subject=mailto:ops@example.org');
      expect(set.status).toBe(0);
      await eventually(async () => {
        expect(await key()).toMatchObject({
          status: 200,
          body: { publicKey: expect.stringMatching(/^B[\w-]{86}$/) as string },
        });
      });
    });

    it('reach by channel, by condition and by id those that they are for', async () => {
      const [channel, city] = [short(), unique('city')];
      const subscribed = await register({ channels: [channel] });
      await register({ city });
      expect(await untilQueued(await send({ channels: channel }), 1)).toMatchObject({
        web: { targeted: 1, queued: 1 },
      });
      await untilQueued(await send({ where: { city } }), 1);
      // As the SDK for Objective-C sends it.
      await untilQueued(await send({ where: JSON.stringify({ city }) }), 1);
      await untilQueued(await send({ where: { installationId: subscribed } }), 1);
      await untilQueued(await send({ channels: [channel], where: { city } }), 0);
      const devices = { data, device_type: 'web', device_ids: [subscribed, 'unknown'] };
      const { status, body } = await owner().post('/1.1/push/devices', devices);
      expect(status).toBe(200);
      await untilQueued(String(body['objectId']), 1);
    });

    it('are sent by leancloud-storage: to a channel, to a query, to one', async () => {
      const { app, baseUrls } = server();
      AV.init({ appId: app.id, appKey: app.appKey, masterKey: app.masterKey, serverURL: baseUrls[0] ?? '' });
      const channel = short();
      const installationId = await register({ channels: [channel] });
      const query = new AV.Query<AV.Installation>('_Installation').equalTo('installationId', installationId);
      const pushes: Parameters<typeof AV.Push.send>[0][] = [
        { channels: [channel], data },
        {
          where: new AV.Query<AV.Installation>('_Installation').equalTo('channels', channel),
          data,
          expiration_interval: 60,
        },
        { where: query, data, expiration_time: new Date(Date.now() + 60_000) },
      ];
      for (const push of pushes) {
        const answer = await AV.Push.send<Json>(push, { useMasterKey: true });
        await untilQueued(String(answer['objectId']), 1);
      }
    });

    it.each<[string, Json, number, number]>([
      ['no data', { data: null }, 400, 113],
      ['data that is none', { data: 'text' }, 400, 111],
      ['too much', { data: { alert: 'x'.repeat(4096) } }, 400, 116],
      ['cql', { cql: 'select * from _Installation' }, 400, 1],
      ['a place that is none', { where: { a: { $nearSphere: 1 } } }, 400, 302],
      ['a condition as text that is no JSON', { where: '{' }, 400, 102],
      ['a field that cannot be queried', { where: { ACL: 1 } }, 400, 102],
      ['a field that is none', { where: { 'a b': 1 } }, 400, 105],
      ['a pointer that is none', { where: { a: { __type: 'Pointer' } } }, 400, 106],
      ['a class that is none', { where: { a: { $inQuery: { className: 'Nothing', where: {} } } } }, 404, 101],
      ['a channel that is none', { channels: ['a b'] }, 400, 112],
      ['no channel', { channels: [] }, 400, 112],
      ['two ends', { expiration_time: '2030-01-01T00:00:00Z', expiration_interval: 1 }, 400, 111],
    ])('with %s are refused', async (_, body, status, code) => {
      expect(await refusal(owner().post('/1.1/push', { data, ...body }))).toEqual([status, code]);
    });

    it.each<[Json, number]>([
      [{}, 113],
      [{ device_type: 'web', device_ids: [] }, 111],
      [{ device_type: 'web', device_ids: ['i'], data: { alert: 'x'.repeat(4096) } }, 116],
    ])('to the devices of %j are refused with %d', async (body, code) => {
      expect(await refusal(owner().post('/1.1/push/devices', { data, ...body }))).toEqual([400, code]);
    });

    it('of clients need the setting', async () => {
      for (const path of ['/1.1/push', '/1.1/push/devices'])
        expect(await refusal(client().post(path, { data }))).toEqual([403, 119]);
      const app = await createApplication(server());
      await setSetting(server(), app, 'allowClientPush', 'true');
      await eventually(async () => {
        const { status } = await ApiClient.forApp(server().baseUrls[0] ?? '', app).post('/1.1/push', { data });
        expect(status).toBe(200);
      });
    });

    it('are listed and forgotten for the master key alone', async () => {
      const name = short();
      const id = await send({ channels: short(), notification_id: name });
      const where = encodeURIComponent(JSON.stringify({ notificationId: name }));
      const { body } = await owner().get(`/1.1/notifications?where=${where}&count=1`);
      expect(body).toMatchObject({ count: 1, results: [{ objectId: id, msg: data }] });
      expect(await refusal(client().get('/1.1/notifications'))).toEqual([403, 403]);
      expect(await refusal(client().delete(`/1.1/notifications/${id}`))).toEqual([403, 403]);
      expect((await owner().delete(`/1.1/notifications/${id}`)).body).toEqual({});
      expect(await refusal(owner().delete(`/1.1/notifications/${id}`))).toEqual([404, 101]);
      expect(await refusal(client().get(`/1.1/notifications/${id}`))).toEqual([404, 101]);
    });

    it.each<[unknown, number]>([
      [{ where: 1 }, 102],
      [{ 'a b': 1 }, 105],
      [{ a: { __type: 'Pointer' } }, 106],
      [{ a: { $nearSphere: 1 } }, 302],
    ])('are not listed by %j', async (where, code) => {
      const query = encodeURIComponent(JSON.stringify(where));
      expect(await refusal(owner().get(`/1.1/notifications?where=${query}`))).toEqual([400, code]);
    });

    it('are not listed by endless keys', async () => {
      expect(await refusal(owner().get(`/1.1/notifications?keys=${'k'.repeat(1_000)}`))).toEqual([400, 111]);
    });

    it('wait for their time, and are cancelled', async () => {
      const id = await send({ push_time: TOMORROW() });
      expect(await record(id)).toMatchObject({ status: 'scheduled' });
      const { body } = await owner().get('/1.1/scheduledPushMessages?limit=1000');
      const found = (body['results'] as { id: number; push_msg: Json }[]).find(({ push_msg: msg }) => msg['id'] === id);
      const path = `/1.1/scheduledPushMessages/${String(found?.id)}`;
      expect((await owner().get(path)).body).toEqual(found);
      expect(await refusal(client().get(path))).toEqual([403, 403]);
      expect(await refusal(client().get('/1.1/scheduledPushMessages'))).toEqual([403, 403]);
      expect(await refusal(owner().get('/1.1/scheduledPushMessages?skip=-1'))).toEqual([400, 102]);
      expect(await refusal(client().delete(path))).toEqual([403, 403]);
      const replies: ApiReply[] = [await owner().delete(path), await owner().delete(path)];
      expect(replies.map(({ status }) => status)).toEqual([200, 404]);
      expect(await refusal(owner().get(path))).toEqual([404, 101]);
      expect(await refusal(client().get(`/1.1/notifications/${id}`))).toEqual([404, 101]);
    });

    it('are sent and watched by operators', async () => {
      const { id } = server().app;
      const device = await register();
      const { stdout } = await gatepost(server(), 'push', 'send', id, '--alert', 'hi', '--device', device);
      await untilQueued(stdout.trim(), 1);
      const shown = await gatepost(server(), 'push', 'status', id, stdout.trim());
      expect(shown.stdout).toMatch(/Status +done[^]*"web" {2}targeted 1 {2}delivered 0 {2}queued 1/);
      const counted = await gatepost(server(), 'push', 'devices', id);
      expect(counted.stdout).toMatch(/"web" {2}\d+ installations {2}\d+ targeted\n[^]*\d+ connected\n/);
      expectRefused(await gatepost(server(), 'push', 'send', id, '--alert', 'hi'), /--all/);
      expectRefused(await gatepost(server(), 'push', 'status', id, 'a'.repeat(24)), /no push/);
    });
  });
}
