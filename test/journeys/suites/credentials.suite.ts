import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  type ApiReply,
  type AppKeys,
  eventually,
  gatepost,
  type GatepostServer,
  createApplication,
  signUp,
  type TestUser,
} from '#testing';

const md5 = (text: string) => createHash('md5').update(text).digest('hex');
const UNAUTHORIZED = { code: 401, error: 'Unauthorized.' };

/** Specification, Authentication. */
export function describeCredentials(server: () => GatepostServer): void {
  describe('application credentials', () => {
    let user: TestUser;
    let app: AppKeys;
    const anonymous = () => new ApiClient(server().baseUrls[0] ?? '', {});
    const get = (headers: Record<string, string>) => anonymous().as(headers).get(`/1.1/users/${user.id}`);
    const list = (headers: Record<string, string>) => anonymous().as(headers).get('/1.1/users?limit=1');

    beforeAll(async () => {
      ({ app } = server());
      user = await signUp(appClient(server()));
    });

    const appForms: [string, () => Record<string, string>][] = [
      ['X-LC-Key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': app.appKey })],
      ['X-LC-Sign', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5(`1453014943466${app.appKey}`)},1453014943466` })],
      [
        'X-LC-Sign in upper case',
        () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5(`1${app.appKey}`).toUpperCase()},1` }),
      ],
      ['X-AVOSCloud-*', () => ({ 'X-AVOSCloud-Application-Id': app.id, 'X-AVOSCloud-Application-Key': app.appKey })],
      ['X-Uluru-*', () => ({ 'X-Uluru-Application-Id': app.id, 'X-Uluru-Application-Key': app.appKey })],
      [
        'X-AVOSCloud-Request-Sign',
        () => ({ 'X-AVOSCloud-Application-Id': app.id, 'X-AVOSCloud-Request-Sign': `${md5(`7${app.appKey}`)},7` }),
      ],
      ['the master key without its suffix', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': app.masterKey })],
    ];
    it.each(appForms)('accepts %s, without the rights of the master key', async (_, headers) => {
      expect((await get(headers())).status).toBe(200);
      expect((await list(headers())).status).toBe(403);
    });

    const masterForms: [string, () => Record<string, string>][] = [
      ['X-LC-Key: <master>,master', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': `${app.masterKey},master` })],
      ['X-LC-Sign …,master', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5(`9${app.masterKey}`)},9,master` })],
      [
        'X-AVOSCloud-Master-Key',
        () => ({ 'X-AVOSCloud-Application-Id': app.id, 'X-AVOSCloud-Master-Key': app.masterKey }),
      ],
      ['X-Uluru-Master-Key', () => ({ 'X-Uluru-Application-Id': app.id, 'X-Uluru-Master-Key': app.masterKey })],
    ];
    it.each(masterForms)('grants the rights of the master key to %s', async (_, headers) => {
      expect((await list(headers())).status).toBe(200);
    });

    const wrongForms: [string, () => Record<string, string>][] = [
      ['nothing', () => ({})],
      ['an id without a key', () => ({ 'X-LC-Id': app.id })],
      ['a key without an id', () => ({ 'X-LC-Key': app.appKey })],
      ['an unknown id', () => ({ 'X-LC-Id': 'unknown-application', 'X-LC-Key': app.appKey })],
      ['an id in other case', () => ({ 'X-LC-Id': app.id.toUpperCase(), 'X-LC-Key': app.appKey })],
      ['a wrong key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': `${app.appKey}x` })],
      ['a key in other case', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': app.appKey.toUpperCase() })],
      ['an empty key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': '' })],
      ['the app key as master key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': `${app.appKey},master` })],
      ['an empty master key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': ',master' })],
      ['a sign by another key', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5('1wrong')},1` })],
      ['a sign of another time', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5(`1${app.appKey}`)},2` })],
      ['an app sign as master sign', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': `${md5(`1${app.appKey}`)},1,master` })],
      ['a malformed sign', () => ({ 'X-LC-Id': app.id, 'X-LC-Sign': 'x,y,z' })],
      ['a 10 kB id', () => ({ 'X-LC-Id': 'i'.repeat(10_000), 'X-LC-Key': app.appKey })],
      ['a 10 kB key', () => ({ 'X-LC-Id': app.id, 'X-LC-Key': 'k'.repeat(10_000) })],
      ['an id like __proto__', () => ({ 'X-LC-Id': '__proto__', 'X-LC-Key': 'undefined' })],
    ];
    it.each(wrongForms)('answers 401 to %s', async (_, headers) => {
      const { status, body, headers: answered } = await get(headers());
      expect([status, body]).toEqual([401, UNAUTHORIZED]);
      expect(answered.get('content-type')).toMatch(/^application\/json; ?charset=utf-8$/);
    });

    it('answers 401 before it reads the body, or looks for the route', async () => {
      const wrong = anonymous().as({ 'X-LC-Id': app.id, 'X-LC-Key': 'wrong' });
      const answers = [
        await wrong.post('/1.1/users', '{malformed'),
        await wrong.post('/1.1/users', { username: user.username, password: 'x' }),
        await wrong.get('/1.1/no-such-route'),
        await wrong.get('/1.1/users/not-an-id!'),
      ];
      expect(answers.map(({ status, body }) => [status, body['code']])).toEqual(answers.map(() => [401, 401]));
    });

    describe('in a text/plain body with _method', () => {
      const send = (path: string, body: unknown): Promise<ApiReply> =>
        anonymous().post(path, body, { headers: { 'content-type': 'text/plain' } });
      const keys = () => ({ _ApplicationId: app.id, _ApplicationKey: app.appKey });

      it('signs up, reads, changes and deletes like the real methods', async () => {
        const name = `plain-${user.username}`;
        const created = await send('/1.1/users', {
          ...keys(),
          _ClientVersion: 'js1',
          username: name,
          password: 'p',
          age: 7,
        });
        expect(created.status).toBe(201);
        expect(created.body['age']).toBe(7);
        expect(Object.keys(created.body).filter((key) => key.startsWith('_'))).toEqual([]);
        const path = `/1.1/users/${String(created.body['objectId'])}`;
        const session = { _SessionToken: created.body['sessionToken'] };

        expect((await send(path, { ...keys(), _method: 'GET' })).body['username']).toBe(name);
        expect((await send('/1.1/users/me', { ...keys(), ...session, _method: 'GET' })).body['username']).toBe(name);
        expect((await send(path, { ...keys(), ...session, _method: 'PUT', age: 8 })).body).toEqual({
          updatedAt: expect.any(String) as string,
        });
        expect((await send(path, { ...keys(), _method: 'PUT', age: 9 })).body['code']).toBe(206);
        expect((await send(path, { ...keys(), _method: 'get' })).body['age']).toBe(8);
        expect(await send(path, { ...keys(), ...session, _method: 'DELETE' })).toMatchObject({ status: 200, body: {} });
        expect((await send(path, { ...keys(), _method: 'GET' })).body['code']).toBe(211);
      });

      it('queries with the master key, its parameters in the body', async () => {
        const master = { _ApplicationId: app.id, _MasterKey: app.masterKey, _method: 'GET' };
        const { body } = await send('/1.1/users', { ...master, where: { username: user.username }, limit: 1 });
        expect((body['results'] as { objectId: string }[]).map(({ objectId }) => objectId)).toEqual([user.id]);
      });

      it('answers 401 to wrong credentials, and 4xx to an unknown _method', async () => {
        const wrong = await send('/1.1/users', { _ApplicationId: app.id, _ApplicationKey: 'wrong', _method: 'GET' });
        expect([wrong.status, wrong.body]).toEqual([401, UNAUTHORIZED]);
        expect((await send('/1.1/users', { ...keys(), _method: 'TRACE' })).status).toBe(400);
        expect((await send('/1.1/users', 'no json')).status).toBe(400);
        expect((await send('/1.1/users', '[]')).status).toBe(400);
      });
    });

    it('rotated keys work at once, and the old ones are dead within a second', async () => {
      const other = await createApplication(server());
      const before = ApiClient.forApp(server().baseUrls[0] ?? '', other);
      await signUp(before);
      const { stdout } = await gatepost(server(), 'apps', 'rotate-keys', other.id, '--app-key');
      const [, appKey = '', masterKey = ''] = /key\s+(\S+)\s+master key\s+(\S+)/.exec(stdout) ?? [];
      expect(appKey).not.toBe(other.appKey);
      expect(masterKey).toBe(other.masterKey);
      await eventually(async () => {
        expect((await before.post('/1.1/login', {})).status).toBe(401);
      }, 2_000);
      await eventually(() => signUp(ApiClient.forApp(server().baseUrls[0] ?? '', { ...other, appKey })), 2_000);
    });

    it('keys that are kept while they are replaced work beside the new ones, until they are revoked', async () => {
      const other = await createApplication(server());
      const [baseUrl = ''] = server().baseUrls;
      const before = ApiClient.forApp(baseUrl, other);
      const { stdout } = await gatepost(server(), 'apps', 'rotate-keys', other.id, '--keep-old', '90d');
      const [, appKey = '', masterKey = ''] = /key\s+(\S+)\s+master key\s+(\S+)/.exec(stdout) ?? [];
      expect(stdout).toMatch(new RegExp(`old key  ${other.appKey}  \\(valid until 20\\d\\d-`));
      await eventually(() => signUp(ApiClient.forApp(baseUrl, { ...other, appKey })), 2_000);
      await signUp(before);
      for (const key of [other.masterKey, masterKey])
        expect((await ApiClient.forMaster(baseUrl, { ...other, masterKey: key }).get('/1.1/users')).status).toBe(200);
      await gatepost(server(), 'apps', 'revoke-old-keys', other.id, '--app-key');
      await eventually(async () => {
        expect((await before.post('/1.1/login', {})).status).toBe(401);
      }, 2_000);
      expect((await ApiClient.forMaster(baseUrl, other).get('/1.1/users')).status).toBe(200);
    });
  });
}
