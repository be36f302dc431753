import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, countUsers, type GatepostServer, type Json, signUp, unique } from '#testing';
import { refusal } from './refusal.js';
import { authDataOf, enter, openidEntry, ownerOf, signUpBy, uidEntry } from './third-party-accounts.js';

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const TEXT = { 'content-type': 'text/plain' };

/** One entry for each row of the specification's table, and for the mini programs, as apps send them. */
const KINDS: readonly [string, () => Json][] = [
  ['weibo', () => ({ ...uidEntry(), expiration_in: '3600' })],
  ['weixin', () => ({ ...openidEntry(), refresh_token: unique('token'), scope: 'snsapi_userinfo' })],
  ['lc_apple', () => ({ uid: unique('sub'), identity_token: 'a.b.c', code: unique('code') })],
  ['taptap', () => ({ ...openidEntry(), kid: unique('kid'), token_type: 'mac', mac_key: unique('key'), name: 'Ada' })],
  ['qq', () => openidEntry()],
  ['github', () => ({ ...uidEntry(), login: 'ada', scopes: ['read', { of: null }] })],
  ['anonymous', () => ({ id: crypto.randomUUID() })],
  ['lc_weapp', () => openidEntry()],
  ['lc_qqapp', () => uidEntry()],
  ['lc_baidu', () => openidEntry()],
  ['lc_alipay', () => uidEntry()],
  ['lc_tt', () => openidEntry()],
];

/** Specification, POST /1.1/users (sign-up or login with authData). */
export function describeThirdParty(server: () => GatepostServer): void {
  describe('POST /1.1/users with authData', () => {
    let api: ApiClient;
    beforeAll(() => {
      api = appClient(server());
    });

    it('makes a user with a random name for an unlinked account: 201, with Location', async () => {
      const weixin = openidEntry();
      const { status, headers, body } = await enter(api, { weixin });
      expect(status).toBe(201);
      const { port } = new URL(server().baseUrls[0] ?? '');
      expect(headers.get('location')).toBe(`http://localhost:${port}/1.1/users/${String(body['objectId'])}`);
      expect(body).toEqual({
        objectId: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
        sessionToken: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        username: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        createdAt: expect.stringMatching(TIMESTAMP) as string,
        updatedAt: body['createdAt'],
        emailVerified: null,
        mobilePhoneVerified: false,
        authData: { weixin },
      });
    });

    it('lets the same account in again: 200, the same user and session token, the newer platform token', async () => {
      const [first, second] = [openidEntry(), openidEntry()];
      const other = uidEntry();
      const user = await signUpBy(api, { weixin: first, github: other });
      const newer = { ...second, openid: first.openid };
      const { status, headers, body } = await enter(api, { weixin: newer });
      expect([status, headers.get('location')?.endsWith(`/1.1/users/${user.id}`)]).toEqual([200, true]);
      const authData = { weixin: newer, github: other };
      expect(body).toEqual({ ...user.body, authData, updatedAt: expect.stringMatching(TIMESTAMP) as string });
      expect(String(body['updatedAt']) > String(user.body['updatedAt'])).toBe(true);
      const { body: me } = await api.get('/1.1/users/me', { session: user.session });
      expect(me).toEqual(body);
    });

    it('notes the first login that brings nothing new in updatedAt, and not each one after it', async () => {
      const github = uidEntry();
      const user = await signUpBy(api, { github });
      const logIn = async () => {
        const { status, body } = await enter(api, { github });
        expect([status, { ...body, updatedAt: '' }]).toEqual([200, { ...user.body, updatedAt: '' }]);
        return String(body['updatedAt']);
      };
      const first = await logIn();
      expect(first > String(user.body['updatedAt'])).toBe(true);
      expect([await logIn(), await logIn()]).toEqual([first, first]);
    });

    it('changes no other field of a user who is there already', async () => {
      const github = uidEntry();
      const user = await signUpBy(api, { github }, { color: 'green' });
      const others = { username: unique('other'), password: 'p', color: 'red', email: 'not an address', level: 1 };
      const { status, body } = await enter(api, { github }, others);
      expect([status, body]).toEqual([200, { ...user.body, updatedAt: body['updatedAt'] }]);
      expect(await refusal(api.post('/1.1/login', others))).toEqual([400, 211]);
    });

    it('takes a username, a password and other fields for a new user', async () => {
      const [username, password] = [unique('ada'), 'correct horse'];
      const named = await signUpBy(api, { github: uidEntry() }, { username: unique('named') });
      expect(named.body['username']).toMatch(/^named-/);
      const github = uidEntry();
      const user = await signUpBy(api, { github }, { username, password, color: 'green' });
      expect(user.body).toMatchObject({ username, color: 'green', authData: { github } });
      const { body } = await api.post('/1.1/login', { username, password });
      expect([body['objectId'], body['authData']]).toEqual([user.id, { github }]);
      expect(await ownerOf(api, { github })).toBe(user.id);
    });

    it('links several accounts at once: each of them lets in', async () => {
      const authData = { weixin: openidEntry(), qq: openidEntry(), github: uidEntry() };
      const user = await signUpBy(api, authData);
      expect(user.body['authData']).toEqual(authData);
      for (const [platform, entry] of Object.entries(authData))
        expect(await ownerOf(api, { [platform]: entry })).toBe(user.id);
    });

    it('links new accounts to the user who has one of those that were sent', async () => {
      const weixin = openidEntry();
      const user = await signUpBy(api, { weixin });
      const added = { github: uidEntry(), qq: openidEntry() };
      const { status, body } = await enter(api, { ...added, weixin });
      expect([status, body['objectId'], body['authData']]).toEqual([200, user.id, { weixin, ...added }]);
      expect(await ownerOf(api, { qq: added.qq })).toBe(user.id);
    });

    it('refuses accounts of two users with 208, and changes neither', async () => {
      const [weixin, github, qq] = [openidEntry(), uidEntry(), openidEntry()];
      const users = [await signUpBy(api, { weixin }), await signUpBy(api, { github })];
      const { status, body } = await enter(api, { weixin: openidEntry(weixin.openid), github, qq });
      const error = 'An existing account already linked to another user.';
      expect([status, body]).toEqual([400, { code: 208, error }]);
      for (const user of users) {
        const { body: now } = await api.get('/1.1/users/me', { session: user.session });
        expect(now).toEqual(user.body);
      }
      expect(await ownerOf(api, { qq })).toBeUndefined();
    });

    it('failOnNotExist=true: 211 for an unlinked account, 200 for a linked one', async () => {
      const [weixin, github] = [openidEntry(), uidEntry()];
      const before = await countUsers(server());
      const logIn = (authData: Json) => api.post('/1.1/users?failOnNotExist=true', { authData });
      expect(await refusal(logIn({ weixin }))).toEqual([400, 211]);
      expect(await countUsers(server())).toBe(before);
      const user = await signUpBy(api, { weixin });
      const { status, body } = await logIn({ weixin, github });
      expect([status, body['sessionToken'], body['authData']]).toEqual([200, user.session, { weixin, github }]);
    });

    it.each(KINDS)('lets %s in, and in again', async (platform, newEntry) => {
      const entry = newEntry();
      const user = await signUpBy(api, { [platform]: entry });
      expect(user.body['authData']).toEqual({ [platform]: entry });
      const { status, body } = await enter(api, { [platform]: entry });
      expect([status, body['sessionToken']]).toEqual([200, user.session]);
    });

    it('takes a number for an id as the text of it', async () => {
      const uid = randomBytes(6).readUIntBE(0, 6);
      const user = await signUpBy(api, { github: { uid } });
      expect(user.body['authData']).toEqual({ github: { uid } });
      expect(await ownerOf(api, { github: { uid: String(uid) } })).toBe(user.id);
      expect(await ownerOf(api, { github: { uid: uid + 1 } })).toBeUndefined();
    });

    it('distinguishes ids of different platforms, and ids that differ in case only', async () => {
      const uid = unique('same');
      const ids = new Set<string>();
      for (const authData of [{ github: { uid } }, { gitlab: { uid } }, { github: { uid: uid.toUpperCase() } }])
        ids.add((await signUpBy(api, authData)).id);
      expect(ids.size).toBe(3);
    });

    it('counts a key of the application that names a platform as that platform', async () => {
      const { openid, ...token } = openidEntry();
      const user = await signUpBy(api, { weixin_1: { ...token, openid, platform: 'weixin' } });
      expect(await ownerOf(api, { weixin_1: { uid: openid, platform: 'weixin' } })).toBe(user.id);
      expect(await refusal(enter(api, { shop: { ...token, openid } }))).toEqual([400, 250]);
    });

    it('does the same under classes/_User, in the text/plain form, and within a batch', async () => {
      const authData = { weixin: openidEntry() };
      const user = await signUpBy(api, authData);
      const { app } = server();
      const form = { _ApplicationId: app.id, _ApplicationKey: app.appKey, authData };
      const { body: batch } = await api.post('/1.1/batch', {
        requests: [
          { method: 'POST', path: '/1.1/users', body: { authData } },
          { method: 'POST', path: '/1.1/classes/_User', body: { authData: { weixin: {} } } },
          {
            method: 'POST',
            path: '/1.1/users',
            body: { authData: { qq: openidEntry() } },
            params: { failOnNotExist: true },
          },
        ],
      });
      const answers = batch as unknown as { success?: Json; error?: Json }[];
      expect(answers.map(({ success, error }) => success?.['objectId'] ?? error?.['code'])).toEqual([
        user.id,
        250,
        211,
      ]);
      for (const reply of [
        await api.post('/1.1/classes/_User', { authData }),
        await api.as({}).post('/1.1/users', form, { headers: TEXT }),
      ])
        expect([reply.status, reply.body['sessionToken']]).toEqual([200, user.session]);
    });

    it('never finds a user by an e-mail address: neither by the body’s nor by the platform’s', async () => {
      const email = `${unique('victim')}@example.com`;
      const victim = await signUp(api, { email });
      const github = { ...uidEntry(), email, email_verified: true };
      const before = await countUsers(server());
      expect(await refusal(enter(api, { github }, { email }))).toEqual([400, 203]);
      expect(await countUsers(server())).toBe(before);
      const stranger = await signUpBy(api, { github });
      expect([stranger.id === victim.id, stranger.body['email']]).toEqual([false, undefined]);
      expect(await authDataOf(server(), victim)).toBeUndefined();
    });
  });
}
