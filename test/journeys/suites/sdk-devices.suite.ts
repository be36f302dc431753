import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import AV from 'leancloud-storage';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  appleToken,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  newFolder,
  unique,
  type VendorServices,
} from '#testing';

const TOPIC = 'com.example.app';
const TEAM = 'TEAM123456';
const PROFILE = 'tablet';
const SECRET = /secret|privateKey|serviceAccount/i;
const DATA = { title: 'Canteen', alert: 'Lunch is ready', order: { id: 7 } };
const CUSTOM = { order: { id: 7 } };

/**
 * Vendors by their names in the Java SDK's modules, and what their receivers hand to the app (java-unified-sdk 2024-05: LCHMSMessageService,
 * LCMiPushMessageReceiver, LCFlymePushMessageReceiver, LCFirebaseMessagingService; the guides for OPPO, vivo and Honor).
 */
const RECEIVERS: Readonly<Record<string, (message: Json) => Json>> = {
  HMS: (message) => clicked(((message['android'] as Json)['notification'] as Json)['click_action'] as Json),
  honor: (message) => clicked(((message['android'] as Json)['notification'] as Json)['clickAction'] as Json),
  mi: ({ payload, title, description }) => ({ ...parsed(payload), title, alert: description }),
  oppo: ({ action_parameters: parameters }) => parsed(parameters),
  vivo: ({ clientCustomMap }) => parsed((clientCustomMap as Json)['payload']),
  mz: ({ clickTypeInfo }) => parsed((clickTypeInfo as Json)['customAttribute']),
  fcm: ({ notification, data }) => {
    const { title, body } = notification as Json;
    return { ...parsed((data as Json)['payload']), title, alert: body };
  },
};
/** The members that reach the app as a whole; other receivers get the members that the sender has added. */
const WHOLE = new Set(['mi', 'mz', 'fcm']);

/** The installations that SDKs save, and the messages that their receivers read. */
export function describeSdkDevices(server: () => GatepostServer, vendors: () => VendorServices): void {
  describe('devices of SDKs', () => {
    let keys: AppKeys;
    const [baseUrl, api] = [() => server().baseUrls[0] ?? '', () => ApiClient.forApp(baseUrl(), keys)];
    const master = () => ApiClient.forMaster(baseUrl(), keys);

    const post = async (path: string, body: Json) => {
      const answer = await api().post(path, body);
      expect([answer.status, answer.text]).toEqual([answer.status < 300 ? answer.status : 201, answer.text]);
      return answer.body;
    };
    /** Swift and Objective-C save jointly, and always register. */
    const saveJointly = async (fields: Json) => {
      const body = { __internalId: 'client-1', ...fields };
      const saved = await post('/1.1/batch/save', {
        // Swift writes methods in small letters.
        requests: [{ method: 'post', path: '/1.1/installations', body }],
      });
      return String((saved['client-1'] as Json)['objectId']);
    };
    /** Java saves the installation when the app starts, and what the vendor gives as soon as it has it. */
    const saveTwice = async (fields: Json) => {
      const device = { deviceType: 'android', installationId: unique('android'), timeZone: 'Asia/Shanghai' };
      const id = String((await post('/1.1/classes/_Installation', device))['objectId']);
      expect((await api().put(`/1.1/classes/_Installation/${id}`, fields)).status).toBe(200);
      return id;
    };
    const saveWithAv = async (fields: Json) => {
      AV.init({ appId: keys.id, appKey: keys.appKey, serverURL: baseUrl() });
      const installation = new AV.Installation();
      for (const [name, value] of Object.entries(fields)) installation.set(name, value);
      await installation.save();
      return installation.id ?? '';
    };
    const saveAsFlutter = async (fields: Json) =>
      String((await post('/1.1/classes/_Installation', fields))['objectId']);
    const push = async (objectId: string, data: Json) => {
      const { status, body } = await master().post('/1.1/push', { where: { objectId }, data });
      expect(status).toBe(200);
      return String(body['objectId']);
    };
    const record = async (id: string) => (await master().get(`/1.1/notifications/${id}`)).body;
    const messageTo = (token: string) =>
      eventually(() => {
        const { fcm, android } = vendors();
        const found = [...fcm.deliveries, ...android.deliveries].filter((delivery) => delivery.token === token);
        expect(found).toHaveLength(1);
        return found[0]?.message ?? {};
      });
    const setCredentials = async (vendor: string, ...options: string[]) => {
      const folder = newFolder('credentials');
      const fields = Object.entries(vendors().credentials[vendor] ?? {}).map(([name, value]) => {
        if (!SECRET.test(name)) return `${name}=${value}`;
        writeFileSync(join(folder, name), value);
        return `${name}=@${join(folder, name)}`;
      });
      const { status, stderr } = await gatepost(server(), 'vendors', 'set', keys.id, vendor, ...fields, ...options);
      expect([status, stderr]).toEqual([0, '']);
    };

    beforeAll(async () => {
      keys = await createApplication(server());
      await eventually(() => setCredentials('apns'));
      for (const vendor of ['fcm', ...vendors().android.vendors]) await setCredentials(vendor);
      await setCredentials('huawei', '--profile', PROFILE);
    });

    const apple = (deviceType: string, others: Json = {}) => ({
      deviceType,
      apnsTopic: TOPIC,
      apnsTeamId: TEAM,
      timeZone: 'Asia/Shanghai',
      ...others,
    });

    it.each<[string, (fields: Json) => Promise<string>, Json]>([
      ['Swift, iOS', saveJointly, apple('ios')],
      ['Swift, macOS', saveJointly, apple('macos')],
      ['Swift, tvOS', saveJointly, apple('tvos')],
      ['Swift, watchOS', saveJointly, apple('watchos')],
      ['Swift without a team', saveJointly, apple('ios', { apnsTeamId: '' })],
      ['Swift with a placeholder', saveJointly, apple('ios', { apnsTeamId: 'YOUR_TEAM_ID' })],
      ['Objective-C', saveJointly, apple('ios', { badge: 0, channels: ['news'], deviceProfile: '' })],
      ['Flutter, LCObject', saveAsFlutter, apple('ios')],
      ['leancloud-storage', saveWithAv, apple('ios')],
      ['leancloud-storage, with the token alone', saveWithAv, { deviceType: 'ios' }],
    ])('of %s reach APNs', async (_, save, fields) => {
      const deviceToken = appleToken();
      await push(await save({ ...fields, deviceToken }), DATA);
      await eventually(() => {
        const [delivery, ...others] = vendors().apns.deliveriesTo(deviceToken);
        expect(others).toEqual([]);
        expect(delivery?.headers['apns-topic']).toBe(TOPIC);
        expect(delivery?.payload).toEqual({ aps: { alert: { title: 'Canteen', body: 'Lunch is ready' } }, ...CUSTOM });
      });
    });

    it.each(Object.keys(RECEIVERS))('of the Java SDK, vendor %s, get what its receiver reads', async (vendor) => {
      const registrationId = unique(vendor);
      await push(await saveTwice({ vendor, registrationId }), DATA);
      const read = RECEIVERS[vendor]?.(await messageTo(registrationId));
      if (WHOLE.has(vendor)) expect(read).toMatchObject(DATA);
      else expect(read).toEqual(CUSTOM);
    });

    it.each<[string, (fields: Json) => Promise<string>, Json]>([
      ['Flutter, LCObject', saveAsFlutter, { deviceType: 'android', vendor: 'HMS' }],
      ['leancloud-storage', saveWithAv, { deviceType: 'android', vendor: 'HMS' }],
      ['Java, with a profile', saveTwice, { vendor: 'HMS', deviceProfile: PROFILE }],
    ])('of %s reach Huawei', async (_, save, fields) => {
      const registrationId = unique('token');
      const installation = fields['deviceType'] === undefined ? {} : { installationId: unique('android') };
      await push(await save({ ...fields, ...installation, registrationId }), DATA);
      expect(RECEIVERS['HMS']?.(await messageTo(registrationId))).toEqual(CUSTOM);
    });

    it.each<[string, (message: Json) => unknown]>([
      ['HMS', ({ data }) => data],
      ['honor', ({ data }) => data],
      ['mi', ({ pass_through: passThrough, payload }) => (passThrough === '1' ? payload : undefined)],
      ['fcm', ({ data }) => (data as Json)['payload']],
    ])('of vendor %s get a silent message as the text of its JSON', async (vendor, textOf) => {
      const registrationId = unique(vendor);
      await push(await saveTwice({ vendor, registrationId }), { ...DATA, silent: true, action: 'com.example.LUNCH' });
      const message = parsed(textOf(await messageTo(registrationId)));
      expect(message).toMatchObject({ ...DATA, silent: true, action: 'com.example.LUNCH' });
    });

    it('get pushes over their connection again after unRegisterMixPush', async () => {
      const id = await saveTwice({ vendor: 'HMS', registrationId: unique('token') });
      expect((await api().put(`/1.1/classes/_Installation/${id}`, { vendor: 'lc' })).status).toBe(200);
      const sent = await push(id, DATA);
      await eventually(async () => {
        const { platforms, errors } = await record(sent);
        expect([platforms, errors]).toMatchObject([{ android: { targeted: 1, queued: 1 } }, null]);
      });
    });
  });
}

/** The member `S.content` of the intent that a click opens. */
function clicked({ type, intent }: Json): Json {
  const pattern =
    /^intent:\/\/cn\.leancloud\.push\/notify_detail\?S\.content=([^#]+)#Intent;scheme=lcpushscheme;launchFlags=0x10000000;end$/;
  const [, content = ''] = pattern.exec(String(intent)) ?? [];
  return type === 1 ? parsed(decodeURIComponent(content)) : {};
}

function parsed(text: unknown): Json {
  return JSON.parse(String(text)) as Json;
}
