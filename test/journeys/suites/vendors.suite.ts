import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { expectRefused } from './refusal.js';

const TOPIC = 'com.example.app';
const PATIENCE_MS = 15_000;

/** By vendor, its name in the SDKs. */
const ANDROID = [
  ['huawei', 'HMS'],
  ['honor', 'honor'],
  ['xiaomi', 'mi'],
  ['oppo', 'oppo'],
  ['vivo', 'vivo'],
  ['meizu', 'mz'],
] as const;
const SUCCESSES: Readonly<Record<string, string>> = { huawei: 'hms', xiaomi: 'mi' };
/** By vendor, the payload that the receiver of LeanCloud's SDK reads. */
const PAYLOADS = {
  huawei: /intent:\/\/cn\.leancloud\.push\/notify_detail\?S\.content=%7B%22order%22%3A%7B%22id%22%3A7%7D%7D#Intent;/,
  honor: /intent:\/\/cn\.leancloud\.push\/notify_detail\?S\.content=%7B%22order%22%3A%7B%22id%22%3A7%7D%7D#Intent;/,
  xiaomi: /"payload":"{\\"alert\\":\\"Lunch is ready\\"/,
  oppo: /"action_parameters":"{\\"order\\":{\\"id\\":7}}"/,
  vivo: /"clientCustomMap":{"payload":"{\\"order\\":{\\"id\\":7}}"}/,
  meizu: /"customAttribute":"{\\"alert\\":\\"Lunch is ready\\"/,
} as const;

/** Pushes to devices that only the push service of a vendor reaches. */
export function describeVendors(server: () => GatepostServer, vendors: () => VendorServices): void {
  describe('the channels of vendors', () => {
    let keys: AppKeys;
    let folder: string;
    const [baseUrl, api] = [() => server().baseUrls[0] ?? '', () => ApiClient.forApp(baseUrl(), keys)];
    const master = () => ApiClient.forMaster(baseUrl(), keys);
    const vendor = (...args: string[]) => gatepost(server(), 'vendors', ...args);
    const fileWith = (text: string) => {
      const file = join(folder, unique('secret'));
      writeFileSync(file, text);
      return `@${file}`;
    };
    const setApns = (changes: Record<string, string> = {}, ...options: string[]) => {
      const { privateKey, ...shown } = { ...vendors().apns.credentials, ...changes };
      const fields = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
      return vendor('set', keys.id, 'apns', ...fields, `privateKey=${fileWith(privateKey)}`, ...options);
    };
    const setFcm = (serviceAccount = vendors().fcm.credentials.serviceAccount) =>
      vendor('set', keys.id, 'fcm', `serviceAccount=${fileWith(serviceAccount)}`);
    const register = async (fields: Json) => {
      const { status, body } = await api().post('/1.1/installations', fields);
      expect(status).toBe(201);
      return String(body['objectId']);
    };
    const iphone = (deviceToken: string, fields: Json = {}) =>
      register({ deviceType: 'ios', deviceToken, apnsTopic: TOPIC, ...fields });
    const installation = async (id: string) => (await master().get(`/1.1/installations/${id}`)).body;
    const push = async (objectIds: readonly string[], body: Json) => {
      const sent = await master().post('/1.1/push', { where: { objectId: { $in: [...objectIds] } }, ...body });
      expect(sent.status).toBe(200);
      return String(sent.body['objectId']);
    };
    const record = async (id: string) => (await api().get(`/1.1/tables/Notifications/${id}`)).body;
    const settled = (id: string) =>
      eventually(async () => {
        const body = await record(id);
        const all = Object.values((body['vendors'] ?? {}) as Record<string, Json>);
        expect([body['status'], all.length > 0, all.map(({ waiting }) => waiting)]).toEqual([
          'done',
          true,
          all.map(() => 0),
        ]);
        return body;
      }, PATIENCE_MS);

    beforeAll(async () => {
      keys = await createApplication(server());
      folder = newFolder('vendors');
      await eventually(() => register({ deviceType: 'ios', deviceToken: appleToken() }));
    });

    it('leave a device without credentials as it was: unreachable', async () => {
      const id = await push([await iphone(appleToken())], { data: { alert: 'unreachable' } });
      await eventually(async () => {
        expect(await record(id)).toMatchObject({ status: 'done', platforms: { ios: { targeted: 1, unreachable: 1 } } });
      });
      expect(Object.keys(await record(id))).not.toContain('vendors');
    });

    it('leave out a device without credentials whose block has no text, and say so', async () => {
      const fields = { deviceType: 'android', installationId: unique('android'), vendor: 'HMS', registrationId: 'r' };
      const id = await push([await register(fields)], { data: { hms: { message: { data: '{}' } } } });
      await eventually(async () => {
        expect(await record(id)).toMatchObject({
          platforms: { android: { targeted: 1, unreachable: 1, queued: 0 } },
          errors: 'huawei: no credentials of the profile, and no text (1)',
        });
      });
    });

    it('are set and listed by the command line without their secrets, and checked at the vendors', async () => {
      const { status, stdout, stderr } = await setApns();
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(
        /^apns TEAM123456\n {2}teamId +TEAM123456\n {2}keyId +KEY1234567\n {2}topics +com\.example\.app\n {2}privateKey +\(secret\)\n/,
      );
      expect((await setFcm()).status).toBe(0);
      expect((await vendor('list', keys.id)).stdout).toMatch(
        /\nfcm\n {2}projectId +example-project\n {2}serviceAccount +\(secret\)\n$/,
      );
      expect(await vendor('check', keys.id)).toEqual({
        status: 0,
        stdout: 'apns TEAM123456: ok\nfcm: ok\n',
        stderr: '',
      });
    });

    it('reach an iPhone through APNs, with the payload that its app reads', async () => {
      const token = appleToken();
      const device = await iphone(token, { badge: 4 });
      const id = await push([device], {
        expiration_interval: 3_600,
        data: { alert: 'Lunch is ready', title: 'Canteen', badge: 'Increment', sound: 'default', order: { id: 7 } },
      });
      const body = await settled(id);
      const [delivery, ...others] = vendors().apns.deliveriesTo(token);
      expect(others).toEqual([]);
      expect(delivery?.payload).toEqual({
        aps: { alert: { title: 'Canteen', body: 'Lunch is ready' }, badge: 5, sound: 'default' },
        order: { id: 7 },
      });
      expect(delivery?.headers).toMatchObject({
        'apns-topic': TOPIC,
        'apns-push-type': 'alert',
        'apns-priority': '10',
        'apns-collapse-id': id,
      });
      expect((await installation(device))['badge']).toBe(5);
      expect(body).toMatchObject({
        devices: 1,
        successes: 1,
        lcSuccesses: 0,
        iosSuccesses: 1,
        invalidTokens: 0,
        errors: null,
        platforms: { ios: { targeted: 1, unreachable: 0, vendor: 1 } },
        vendors: { apns: { targeted: 1, accepted: 1, waiting: 0 } },
      });
    });

    it("count a Mac's badge up by the block of Macs, and no other", async () => {
      const [mac, phone] = [appleToken(), appleToken()];
      const devices = await Promise.all([iphone(mac, { deviceType: 'macos', badge: 7 }), iphone(phone, { badge: 4 })]);
      await settled(await push(devices, { data: { macos: { alert: 'hi', badge: 'Increment' }, ios: { alert: 'x' } } }));
      const payloads = [mac, phone].map((token) => vendors().apns.deliveriesTo(token)[0]?.payload);
      expect(payloads).toEqual([{ aps: { alert: 'hi', badge: 8 } }, { aps: { alert: 'x' } }]);
      const badges = await Promise.all(devices.map(async (one) => (await installation(one))['badge']));
      expect(badges).toEqual([8, 4]);
    });

    it('reach an Android device through FCM, with the payload that its SDK reads', async () => {
      const registrationId = unique('token');
      const fields = { deviceType: 'android', installationId: unique('android'), vendor: 'fcm', registrationId };
      const id = await push([await register(fields)], { data: { alert: 'hello', title: 'Shop', order: 7 } });
      await settled(id);
      const [delivery, ...others] = vendors().fcm.deliveries.filter(({ token }) => token === registrationId);
      expect(others).toEqual([]);
      expect(delivery?.message).toMatchObject({
        notification: { title: 'Shop', body: 'hello' },
        android: { priority: 'HIGH', notification: { tag: id } },
      });
      const { payload = '' } = (delivery?.message['data'] ?? {}) as Record<string, string>;
      expect(JSON.parse(payload)).toMatchObject({ alert: 'hello', title: 'Shop', order: 7 });
      expect(await record(id)).toMatchObject({ successes: 1, fcmSuccesses: 1 });
    });

    describe.each(ANDROID)('of %s', (name, nameInSdk) => {
      const device = (registrationId: string) =>
        register({ deviceType: 'android', installationId: unique('android'), vendor: nameInSdk, registrationId });

      it('take its credentials, and check them', async () => {
        const fields = Object.entries(vendors().android.credentials[name]).map(([field, value]) =>
          /secret/i.test(field) ? `${field}=${fileWith(value)}` : `${field}=${value}`,
        );
        const { status, stderr } = await vendor('set', keys.id, name, ...fields);
        expect([status, stderr]).toEqual([0, '']);
        expect(await vendor('check', keys.id, name)).toEqual({ status: 0, stdout: `${name}: ok\n`, stderr: '' });
        const secret = Object.keys(vendors().android.credentials[name]).find((field) => /secret/i.test(field)) ?? '';
        const wrong = fields.map((field) => (field.startsWith(secret) ? `${secret}=${fileWith('wrong')}` : field));
        expectRefused(await vendor('set', keys.id, name, ...wrong), /does not accept the ids and the secret/);
        expect((await vendor('check', keys.id, name)).status).toBe(0);
        await vendor('set', keys.id, name, ...wrong, '--unchecked');
        const refused = await vendor('check', keys.id, name);
        expect([refused.status, refused.stdout]).toEqual([
          1,
          expect.stringMatching(/does not accept the ids and the secret/),
        ]);
        await vendor('set', keys.id, name, ...fields);
      });

      it('reach each device once, with the payload that its SDK reads, and report dead tokens', async () => {
        const long = 'A title that is longer than each of the vendors takes, so that it is cut';
        const tokens = [...Array.from({ length: 8 }, () => unique('device')), unique('once-'), unique('invalid-')];
        const devices = await Promise.all(tokens.map(device));
        const id = await push(devices, { data: { alert: 'Lunch is ready', title: long, order: { id: 7 } } });
        expect(await settled(id)).toMatchObject({
          successes: 9,
          [`${SUCCESSES[name] ?? name}Successes`]: 9,
          invalidTokens: 1,
          vendors: { [name]: { targeted: 10, accepted: 9, invalid: 1 } },
        });
        const counts = tokens.map((token) => vendors().android.deliveriesTo(token).length);
        expect(counts).toEqual([...Array.from({ length: 9 }, () => 1), 0]);
        expect(JSON.stringify(vendors().android.deliveriesTo(tokens[0] ?? '')[0]?.message)).toMatch(PAYLOADS[name]);
        const valid = await Promise.all(devices.map(async (one) => (await installation(one))['valid']));
        expect(valid).toEqual([...Array.from({ length: 9 }, () => true), false]);
      });
    });

    describe('of browsers', () => {
      const publicKey = async () => String((await api().get('/1.1/push/webPushKey')).body['publicKey']);

      it('have a key that stays until another one is given', async () => {
        expect((await api().get('/1.1/push/webPushKey')).status).toBe(404);
        expectRefused(await vendor('set', keys.id, 'web-push', 'subject=ops'), /subject: must be an address such as/);
        const set = await vendor('set', keys.id, 'web-push', 'subject=mailto:ops@example.org');
        expect(set).toMatchObject({ status: 0, stderr: '' });
        expect(set.stdout).toMatch(
          /^web-push\n {2}subject +mailto:ops@example\.org\n {2}publicKey +B[\w-]{86}\n {2}privateKey +\(secret\)\n/,
        );
        const key = await publicKey();
        await vendor('set', keys.id, 'web-push', 'subject=mailto:push@example.org');
        expect(await publicKey()).toBe(key);
        expect(await vendor('check', keys.id, 'web-push')).toEqual({ status: 0, stdout: 'web-push: ok\n', stderr: '' });
        expectRefused(
          await vendor('set', keys.id, 'web-push', 'subject=mailto:ops@example.org', `privateKey=${fileWith('short')}`),
          /privateKey: must be a private VAPID key/,
        );
      });

      it('reach a browser, which alone can read the message, until it unsubscribes', async () => {
        const subscription = vendors().webPush.subscribe(await publicKey());
        const device = await register({ deviceType: 'web', webPush: subscription });
        const again = await api().post('/1.1/installations', { deviceType: 'web', webPush: subscription });
        expect([again.status, again.body['objectId']]).toEqual([200, device]);
        const asInParse = { deviceType: 'web', deviceToken: JSON.stringify({ ...subscription, expirationTime: null }) };
        const parse = await api().post('/1.1/installations', asInParse);
        expect([parse.status, parse.body['objectId']]).toEqual([200, device]);
        const id = await push([device], {
          data: { alert: 'Lunch is ready', order: { id: 7 } },
          expiration_interval: 3_600,
        });
        expect(await settled(id)).toMatchObject({ successes: 1, webSuccesses: 1 });
        const [delivery, ...others] = vendors().webPush.deliveriesTo(subscription);
        expect(others).toEqual([]);
        expect(delivery?.message).toMatchObject({ id, alert: 'Lunch is ready', order: { id: 7 } });
        expect(delivery?.headers).toMatchObject({ urgency: 'high' });
        expect(Number(delivery?.headers['ttl'])).toBeGreaterThan(3_500);
        vendors().webPush.unsubscribe(subscription);
        expect(await settled(await push([device], { data: { alert: 'gone' } }))).toMatchObject({ invalidTokens: 1 });
        expect((await installation(device))['valid']).toBe(false);
      });

      it('refuse what is no subscription, and endpoints in internal networks', async () => {
        const subscription = vendors().webPush.subscribe(await publicKey());
        const refused = async (webPush: Json) =>
          (await api().post('/1.1/installations', { deviceType: 'web', webPush })).body;
        const { keys: own } = subscription;
        expect(await refused({ ...subscription, endpoint: 'http://example.org/' })).toMatchObject({ code: 111 });
        expect(await refused({ ...subscription, endpoint: 'https://10.0.0.1/' })).toMatchObject({ code: 111 });
        expect(await refused({ ...subscription, endpoint: 'https://[fd00::1]/' })).toMatchObject({ code: 111 });
        expect(await refused({ ...subscription, keys: { ...own, auth: 'A'.repeat(21) } })).toMatchObject({ code: 111 });
        expect(await refused({ ...subscription, keys: { ...own, p256dh: 'B'.repeat(87) } })).toMatchObject({
          code: 111,
        });
      });
    });

    it('mark a device with a dead token invalid, until it registers again', async () => {
      const future = Math.floor(Date.now() / 1_000 + 3_600).toString(16);
      const token = appleToken(`dead${future}`);
      const device = await iphone(token);
      expect(await settled(await push([device], { data: { alert: 'gone' } }))).toMatchObject({
        invalidTokens: 1,
        errors: 'apns: Unregistered (1)',
      });
      await eventually(async () => {
        expect((await installation(device))['valid']).toBe(false);
      });
      await iphone(token).catch(() => undefined);
      await api().post('/1.1/installations', { deviceType: 'ios', deviceToken: token });
      expect(await installation(device)).toMatchObject({ valid: true });
      expect(Object.keys(await installation(device))).not.toContain('invalidReason');
    });

    it('keep a device that has registered after the token died', async () => {
      const token = appleToken('dead00000001');
      const device = await iphone(token);
      expect(await settled(await push([device], { data: { alert: 'back' } }))).toMatchObject({ invalidTokens: 1 });
      expect((await installation(device))['valid']).toBe(true);
    });

    it('doubt tokens of another environment or app, and keep their devices until an operator trusts the credentials', async () => {
      const tokens = Array.from({ length: 60 }, (_, index) => appleToken(index % 2 === 0 ? 'bad0' : '7e57'));
      const devices = await Promise.all(tokens.map((token) => iphone(token)));
      const body = await settled(await push(devices, { data: { alert: 'wrong' } }));
      expect(body).toMatchObject({ invalidTokens: 0, vendors: { apns: { rejected: 60 } } });
      expect(body['errors']).toMatch(/BadDeviceToken in doubt \(30\)/);
      expect(body['prod']).toBe('prod');
      const inTesting = await master().post('/1.1/push', { data: { alert: 'dev' } }, { headers: { 'x-lc-prod': '0' } });
      expect((await record(String(inTesting.body['objectId'])))['prod']).toBe('dev');
      const valid = async () => (await Promise.all(devices.map(installation))).map((one) => one['valid']);
      expect(await valid()).toEqual(devices.map(() => true));
      expect((await vendor('list', keys.id)).stdout).toMatch(/in doubt: the vendor calls many tokens invalid/);
      const { stdout } = await gatepost(server(), 'doctor');
      expect(stdout).toContain('apns calls so many tokens invalid that none is removed');
      expect((await vendor('trust', keys.id, 'apns')).status).toBe(0);
      expect((await vendor('list', keys.id)).stdout).toMatch(/trusted for the rest of an hour/);
      expect(await settled(await push(devices, { data: { alert: 'right' } }))).toMatchObject({
        invalidTokens: 30,
      });
      expect(await valid()).toEqual(devices.map((_, index) => index % 2 === 1));
      // New credentials begin without trust.
      await setApns();
    });

    it('hold everything while an operator has paused them, and go on at once', async () => {
      const token = appleToken();
      const device = await iphone(token);
      expect((await vendor('pause', keys.id, 'apns')).status).toBe(0);
      const id = await push([device], { data: { alert: 'wait' } });
      await eventually(async () => {
        const body = await record(id);
        expect(body).toMatchObject({ errors: 'apns: paused (1)', vendors: { apns: { waiting: 1, paused: 1 } } });
      });
      expect((await vendor('list', keys.id)).stdout).toMatch(
        /paused: vendors resume lets it go on\n {2}waiting: 1 devices/,
      );
      expect((await gatepost(server(), 'doctor')).stdout).toContain('apns is paused, and devices wait for it.');
      // A pause outlives new credentials.
      await setApns();
      await push([device], { data: { alert: 'wait' } });
      expect(vendors().apns.deliveriesTo(token)).toEqual([]);
      expect((await vendor('resume', keys.id, 'apns')).status).toBe(0);
      expect(await settled(id)).toMatchObject({ errors: null, vendors: { apns: { accepted: 1 } } });
      await eventually(() => {
        expect(vendors().apns.deliveriesTo(token)).toHaveLength(2);
      });
      expectRefused(await vendor('pause', keys.id, 'apns', '--team', 'OTHER12345'), /has no such credentials/);
    });

    it.each<[Json, RegExp]>([
      [{ vendor: 7 }, /^vendor: The value must be a name/],
      [{ vendor: 'x'.repeat(33) }, /^vendor: /],
      [{ registrationId: 'two words' }, /^registrationId: /],
      [{ registrationId: 'x'.repeat(1_025) }, /^registrationId: /],
      [{ deviceProfile: '7up' }, /^deviceProfile: /],
      [{ badge: -1 }, /^badge: /],
      [{ badge: 'many' }, /^badge: /],
      [{ apnsTopic: 'com.example\r\nx-header: 1' }, /^apnsTopic: /],
      [{ apnsTeamId: ['TEAM123456'] }, /^apnsTeamId: /],
      [{ apnsTeamId: 'T'.repeat(65) }, /^apnsTeamId: /],
    ])('refuse the field %j of an installation', async (fields, text) => {
      const { status, body } = await api().post('/1.1/installations', {
        deviceType: 'android',
        installationId: unique('bad'),
        ...fields,
      });
      expect([status, body['code']]).toEqual([400, 111]);
      expect(body['error']).toMatch(text);
    });

    it('take what SDKs send before a vendor has given a token', async () => {
      const id = await register({
        ...{
          deviceType: 'android',
          installationId: unique('early'),
          vendor: 'lc',
          registrationId: '',
          deviceProfile: '',
        },
        ...{ badge: 0, apnsTopic: null },
      });
      const stored = await installation(id);
      expect([stored['vendor'], stored['badge']]).toEqual(['lc', 0]);
      expect(Object.keys(stored)).not.toContain('registrationId');
      const counted = await api().put(`/1.1/installations/${id}`, { badge: { __op: 'Increment', amount: 1 } });
      expect([counted.status, (await installation(id))['badge']]).toEqual([200, 1]);
    });

    it('try again what the vendor could not take, and lose nothing by a lost connection', async () => {
      const tokens = [appleToken('b05e'), ...Array.from({ length: 30 }, () => appleToken())];
      const devices = await Promise.all(tokens.map((token) => iphone(token)));
      vendors().apns.delayMs = 50;
      const id = await push(devices, { data: { alert: 'again' } });
      await eventually(() => {
        expect(vendors().apns.deliveries.length).toBeGreaterThan(0);
      });
      vendors().apns.breakConnections();
      vendors().apns.delayMs = 0;
      expect(await settled(id)).toMatchObject({ successes: 31, vendors: { apns: { accepted: 31 } } });
      const ids = tokens.map(
        (token) =>
          new Set(
            vendors()
              .apns.deliveriesTo(token)
              .map(({ headers }) => headers['apns-id']),
          ),
      );
      expect(ids.map(({ size }) => size)).toEqual(tokens.map(() => 1));
    });

    it('wait while the credentials do not work, and go on at once with new ones', async () => {
      const token = appleToken();
      const device = await iphone(token);
      expectRefused(await setApns({ keyId: 'WRONG12345' }), /check teamId, keyId and the \.p8 file/);
      await setApns({ keyId: 'WRONG12345' }, '--unchecked');
      const check = await vendor('check', keys.id, 'apns');
      expect(check.status).toBe(1);
      expect(check.stdout).toMatch(/Apple does not accept the key: check teamId, keyId and the \.p8 file/);
      const id = await push([device], { data: { alert: 'later' } });
      await eventually(async () => {
        expect(await record(id)).toMatchObject({ status: 'done', vendors: { apns: { waiting: 1 } } });
      });
      await setApns();
      await settled(id);
      expect(vendors().apns.deliveriesTo(token)).toHaveLength(1);
    });

    it('send one message to one token', async () => {
      const token = appleToken();
      const sent = await vendor('try', keys.id, 'apns', '--token', token);
      expect([sent.status, sent.stderr]).toEqual([0, '']);
      expect(vendors().apns.deliveriesTo(token)).toHaveLength(1);
      const refused = await vendor('try', keys.id, 'fcm', '--token', 'other-app-1');
      expectRefused(refused, /was not accepted \(rejected\): SENDER_ID_MISMATCH/);
    });

    it('refuse credentials that cannot work, in words that name the field', async () => {
      expectRefused(await setApns({ teamId: 'short' }), /teamId: must be the 10 capital letters and digits/);
      expectRefused(await setApns({ topics: 'com.example\napp' }), /topics: must be/);
      expectRefused(await setApns({ privateKey: 'not a key' }), /privateKey: must be the \.p8 file/);
      expectRefused(await setFcm('{}'), /serviceAccount: must be the JSON file of a service account/);
      expectRefused(
        await setApns({ keyId: 'gh56ij78kl' }),
        /keyId: must be the 10 capital letters and digits of the key/,
      );
      const { privateKey: curve384 } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
      const pem = curve384.export({ type: 'pkcs8', format: 'pem' }).toString();
      expectRefused(
        await setApns({ privateKey: pem }),
        /privateKey: must be the \.p8 file .*developer\.apple\.com.*P-256/,
      );
      const { privateKey } = vendors().apns.credentials;
      const { private_key: _, ...account } = JSON.parse(vendors().fcm.credentials.serviceAccount) as Json;
      const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const deleted = { ...account, private_key: rsa.export({ type: 'pkcs8', format: 'pem' }) };
      expectRefused(
        await setFcm(JSON.stringify(deleted)),
        /serviceAccount: Google does not accept it\. Its key may have expired or been deleted: generate a new private key/,
      );
      expect((await vendor('check', keys.id, 'fcm')).status).toBe(0);
      const other = JSON.stringify({ project_id: 'p', client_email: 'e@p', private_key: privateKey });
      expectRefused(await setFcm(other), /its private_key is not an RSA key/);
    });

    it('can be removed: devices then use their own queues again', async () => {
      expect((await vendor('remove', keys.id, 'fcm')).status).toBe(0);
      const fields = { deviceType: 'android', installationId: unique('android'), vendor: 'fcm', registrationId: 'r' };
      const id = await push([await register(fields)], { data: { alert: 'own queue' } });
      await eventually(async () => {
        const body = await record(id);
        expect(body).toMatchObject({ status: 'done', platforms: { android: { queued: 1 } } });
        expect(body['errors']).toBe('fcm: no credentials of the profile (1)');
      });
    });
  });
}
