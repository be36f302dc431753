import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GatepostServer, type Json, type PlatformServer, setSetting, signUp, unique } from '#testing';
import { createPlatformApp, EFFECTIVE_MS, type PlatformApp, setCredentials } from './platform-apps.js';
import { refusal } from './refusal.js';
import {
  change,
  enter,
  openidEntry,
  signUpBy,
  type ThirdPartyUser,
  uidEntry,
  withUnionId,
} from './third-party-accounts.js';

/** A platform whose apps send a token, and the code of its refusals. */
interface TokenPlatform {
  readonly platform: 'weixin' | 'weibo' | 'qq' | 'taptap' | 'lc_apple';
  readonly idField: string;
  readonly tokenField: string;
  readonly refused: number;
  readonly newId: () => string;
  /** An entry as the platform's SDK gives it to the app. */
  readonly issue: (platforms: PlatformServer, id: string) => Json | Promise<Json>;
}

const openid = () => unique('openid');
const TOKEN_PLATFORMS: readonly TokenPlatform[] = [
  {
    platform: 'weixin',
    idField: 'openid',
    tokenField: 'access_token',
    refused: 252,
    newId: openid,
    issue: ({ weixin }, id) => weixin.issueToken({ openid: id }),
  },
  {
    platform: 'weibo',
    idField: 'uid',
    tokenField: 'access_token',
    refused: 251,
    newId: () => String(randomInt(1_000_000_000, 9_000_000_000)),
    issue: ({ weibo }, id) => weibo.issueToken({ uid: id }),
  },
  {
    platform: 'qq',
    idField: 'openid',
    tokenField: 'access_token',
    refused: 251,
    newId: openid,
    issue: ({ qq }, id) => qq.issueToken({ openid: id }),
  },
  {
    platform: 'taptap',
    idField: 'openid',
    tokenField: 'mac_key',
    refused: 251,
    newId: openid,
    issue: ({ taptap }, id) => ({ ...taptap.issueToken({ openid: id, unionid: unique('union') }) }),
  },
  {
    platform: 'lc_apple',
    idField: 'uid',
    tokenField: 'identity_token',
    refused: 251,
    newId: () => unique('sub'),
    issue: async ({ apple }, id) => ({ uid: id, identity_token: await apple.identityToken({ sub: id }) }),
  },
];

/** Mini programs, whose apps send a code. */
const CODE_PLATFORMS: readonly {
  readonly platform: 'lc_weapp' | 'lc_qqapp' | 'lc_baidu' | 'lc_tt' | 'lc_alipay';
  readonly code: (platforms: PlatformServer, id: string) => string;
}[] = [
  { platform: 'lc_weapp', code: ({ weapp }, id) => weapp.issueCode({ openid: id }) },
  { platform: 'lc_qqapp', code: ({ qqapp }, id) => qqapp.issueCode({ openid: id }) },
  { platform: 'lc_baidu', code: ({ baidu }, id) => baidu.issueCode({ openid: id }) },
  { platform: 'lc_tt', code: ({ tt }, id) => tt.issueCode({ openid: id }) },
  { platform: 'lc_alipay', code: ({ alipay }, id) => alipay.issueCode({ userId: id }) },
];

/** Decisions, when a platform is asked for proof: wherever its credentials are configured. */
export function describeVerifiedPlatforms(server: () => GatepostServer, platforms: () => PlatformServer): void {
  describe('accounts that their platform confirms', () => {
    let app: PlatformApp;
    const count = async () => (await app.master.get('/1.1/users?count=1&limit=0')).body['count'];
    const appleCode = async (sub: string) => ({ uid: sub, code: await platforms().apple.issueCode({ sub }) });
    const authDataOf = async ({ id }: Pick<ThirdPartyUser, 'id'>) =>
      (await app.master.get(`/1.1/users/${id}`)).body['authData'] as Json;

    beforeAll(async () => {
      app = await createPlatformApp(server(), platforms(), platforms().kinds);
    });
    afterEach(() => {
      platforms().mend();
    });

    describe.each(TOKEN_PLATFORMS)('$platform', ({ platform, idField, tokenField, refused, newId, issue }) => {
      const issueFor = (id: string) => issue(platforms(), id);

      it('accepts users whom the platform confirms, and no token that it does not know', async () => {
        const id = newId();
        const entry = await issueFor(id);
        const user = await signUpBy(app.api, { [platform]: entry });
        expect(user.body['authData']).toEqual({ [platform]: entry });
        const again = await enter(app.api, { [platform]: await issueFor(id) });
        expect([again.status, again.body['sessionToken']]).toEqual([200, user.session]);
        const before = await count();
        for (const bad of [{ [tokenField]: 'wrong' }, { [tokenField]: '' }, { [tokenField]: { $ne: null } }])
          expect(await refusal(enter(app.api, { [platform]: { ...entry, ...bad } }))).toEqual([400, refused]);
        expect(await refusal(enter(app.api, { [platform]: { [idField]: id } }))).toEqual([400, refused]);
        expect(await count()).toBe(before);
      });

      it('refuses another user’s id with an own token', async () => {
        const [victim, own] = [newId(), await issueFor(newId())];
        await signUpBy(app.api, { [platform]: await issueFor(victim) });
        const before = await count();
        for (const id of [victim, newId()])
          expect(await refusal(enter(app.api, { [platform]: { ...own, [idField]: id } }))).toEqual([400, refused]);
        expect(await count()).toBe(before);
      });

      it('links what is confirmed only', async () => {
        const user = await signUp(app.api);
        const entry = await issueFor(newId());
        const bad = { authData: { [platform]: { ...entry, [tokenField]: 'wrong' } }, color: 'red' };
        expect(await refusal(change(app.api, user, bad))).toEqual([400, refused]);
        expect((await app.api.get(`/1.1/users/${user.id}`)).body['color']).toBeUndefined();
        expect((await change(app.api, user, { authData: { [platform]: entry } })).status).toBe(200);
        expect(await authDataOf(user)).toEqual({ [platform]: entry });
      });

      it('refuses all users while the platform is away, says so within 3.5 seconds, and works again afterwards', async () => {
        const [known, fresh] = [newId(), newId()];
        const user = await signUpBy(app.api, { [platform]: await issueFor(known) });
        const before = await count();
        for (const [fault, id] of [
          ['hang', fresh],
          ['status-500', known],
          ['reset', fresh],
          ['rubbish', known],
        ] as const) {
          // While Apple's keys are known nothing is asked of it for a token, but for a code.
          const entry = platform === 'lc_apple' ? await appleCode(id) : await issueFor(id);
          platforms().break(platform, fault);
          const startedAt = Date.now();
          const reply = await app.api.acceptingUnavailable().post('/1.1/users', { authData: { [platform]: entry } });
          expect([fault, reply.status, reply.body['code']]).toEqual([fault, 503, 503]);
          expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(Date.now() - startedAt).toBeLessThan(3_500);
        }
        expect(await count()).toBe(before);
        platforms().mend();
        const { status, body } = await enter(app.api, { [platform]: await issueFor(known) });
        expect([status, body['objectId']]).toEqual([200, user.id]);
      });
    });

    describe.each(CODE_PLATFORMS)('$platform', ({ platform, code }) => {
      const codeFor = (id: string) => code(platforms(), id);

      it('exchanges the code for the account, once', async () => {
        const id = openid();
        const used = codeFor(id);
        const user = await signUpBy(app.api, { [platform]: { code: used } });
        const entry = (user.body['authData'] as Json)[platform] as Json;
        expect([entry['uid'] ?? entry['openid'], entry['code']]).toEqual([id, undefined]);
        const before = await count();
        for (const wrong of [{ code: used }, { code: 'wrong' }, { code: '' }, { uid: id }, { openid: id }])
          expect(await refusal(enter(app.api, { [platform]: wrong }))).toEqual([400, 251]);
        expect(await count()).toBe(before);
        const again = await enter(app.api, { [platform]: { code: codeFor(id) } });
        expect([again.status, again.body['sessionToken']]).toEqual([200, user.session]);
      });

      it('refuses all users while the platform is away', async () => {
        const before = await count();
        const entry = { [platform]: { code: codeFor(openid()) } };
        platforms().break(platform, 'reset');
        expect((await app.api.acceptingUnavailable().post('/1.1/users', { authData: entry })).status).toBe(503);
        expect(await count()).toBe(before);
      });

      it('takes no code for another account than the entry names', async () => {
        const victim = openid();
        await signUpBy(app.api, { [platform]: { code: codeFor(victim) } });
        const before = await count();
        expect(await refusal(enter(app.api, { [platform]: { code: codeFor(openid()), uid: victim } }))).toEqual([
          400, 251,
        ]);
        expect(await count()).toBe(before);
      });

      it('shows the session key to the master key only', async () => {
        const id = openid();
        const user = await signUpBy(app.api, { [platform]: { code: codeFor(id) } });
        const seen = (await authDataOf(user))[platform] as Json;
        if (platform !== 'lc_alipay') expect(seen['session_key']).toMatch(/^[\w-]{24}$/);
        const replies = [
          await app.api.get('/1.1/users/me', { session: user.session }),
          await app.api.get(`/1.1/users/${user.id}`, { session: user.session }),
          await enter(app.api, { [platform]: { code: codeFor(id) } }),
          await app.api.put(`/1.1/users/${user.id}?new=true`, { authData: { github: uidEntry() } }, user),
        ];
        expect(user.body['authData']).toHaveProperty(platform);
        expect(JSON.stringify(user.body)).not.toContain('session_key');
        for (const { status, text } of replies) {
          expect([status, text.includes(platform), text.includes('session_key')]).toEqual([200, true, false]);
        }
      });
    });

    it('lc_apple takes an authorization code instead of a token, once', async () => {
      const sub = unique('sub');
      const entry = await appleCode(sub);
      const user = await signUpBy(app.api, { lc_apple: entry });
      expect(await refusal(enter(app.api, { lc_apple: entry }))).toEqual([400, 251]);
      const { body } = await enter(app.api, {
        lc_apple: { uid: sub, identity_token: await platforms().apple.identityToken({ sub }) },
      });
      expect(body['objectId']).toBe(user.id);
    });

    it.each<[string, Json]>([
      ['for another app', { aud: 'com.example.other' }],
      ['of another issuer', { iss: 'https://accounts.example.com' }],
      ['that has expired', { secondsLeft: -60 }],
      ['of another user', { sub: 'another-user' }],
    ])('lc_apple refuses an identity token %s', async (_, claims) => {
      const sub = unique('sub');
      const identity_token = await platforms().apple.identityToken({ sub, ...claims });
      const before = await count();
      expect(await refusal(enter(app.api, { lc_apple: { uid: sub, identity_token } }))).toEqual([400, 251]);
      expect(await count()).toBe(before);
    });

    it('a token that was given to another app opens nothing', async () => {
      const [uid, id] = [String(randomInt(1_000_000_000, 9_000_000_000)), openid()];
      const entries = {
        weibo: platforms().weibo.issueToken({ uid, appKey: '1' }),
        qq: platforms().qq.issueToken({ openid: id, appId: '1' }),
        taptap: { ...platforms().taptap.issueToken({ openid: id, unionid: 'u' }, 'other-client') },
      };
      for (const [platform, entry] of Object.entries(entries))
        expect(await refusal(enter(app.api, { [platform]: entry }))).toEqual([400, 251]);
    });

    describe('union ids', () => {
      it('count where the platform confirms them', async () => {
        const unionid = unique('union');
        const token = platforms().weixin.issueToken({ openid: openid(), unionid });
        const weixin = withUnionId(token, unionid, true);
        const user = await signUpBy(app.api, { weixin });
        expect(user.body['authData']).toEqual({ weixin, _weixin_unionid: { uid: unionid } });
        const other = platforms().weixin.issueToken({ openid: openid(), unionid });
        const { status, body } = await enter(app.api, { weixin_1: withUnionId(other, unionid) });
        expect([status, body['objectId']]).toEqual([200, user.id]);
      });

      it('are refused where it does not', async () => {
        const unionid = unique('union');
        const token = platforms().weixin.issueToken({ openid: openid(), unionid });
        const user = await signUpBy(app.api, { weixin: withUnionId(token, unionid, true) });
        const without = platforms().weixin.issueToken({ openid: openid() });
        const another = platforms().weixin.issueToken({ openid: openid(), unionid: unique('union') });
        for (const platform of ['weixin', 'weixin_1'])
          for (const own of [without, another])
            for (const isMain of [true, false])
              expect((await refusal(enter(app.api, { [platform]: withUnionId(own, unionid, isMain) })))[0]).toBe(400);
        expect(Object.keys(await authDataOf(user))).toEqual(['weixin', '_weixin_unionid']);
      });

      it('of a mini program come from the platform: its app need not know them', async () => {
        const unionid = unique('union');
        const token = platforms().weixin.issueToken({ openid: openid(), unionid });
        const user = await signUpBy(app.api, { weixin: withUnionId(token, unionid, true) });
        const code = platforms().weapp.issueCode({ openid: openid(), unionid });
        const { status, body } = await enter(app.api, { lc_weapp: { code, platform: 'weixin', main_account: false } });
        expect([status, body['sessionToken']]).toEqual([200, user.session]);
      });
    });

    describe('what the user has already', () => {
      it('is taken as it is when it is sent again with an old token, as Python and PHP do', async () => {
        const weixin = platforms().weixin.issueToken({ openid: openid() });
        const user = await signUpBy(app.api, { weixin });
        const github = uidEntry();
        const stale = { ...weixin, access_token: 'long-gone' };
        const { status } = await change(app.api, user, { authData: { weixin: stale, github } });
        expect(status).toBe(200);
        expect(await authDataOf(user)).toEqual({ weixin, github });
        platforms().break('weixin', 'reset');
        expect((await change(app.api, user, { authData: { weixin, github: null } })).status).toBe(200);
        expect(await authDataOf(user)).toEqual({ weixin });
      });

      it('does not log in to another account without proof', async () => {
        const weixin = platforms().weixin.issueToken({ openid: openid() });
        const user = await signUpBy(app.api, { weixin });
        const other = { ...weixin, openid: openid() };
        expect(await refusal(change(app.api, user, { authData: { weixin: other } }))).toEqual([400, 252]);
        expect(await refusal(change(app.api, await signUp(app.api), { authData: { weixin: other } }))).toEqual([
          400, 252,
        ]);
        const write = { method: 'PUT', path: `/1.1/users/${user.id}`, body: { authData: { weixin: other } } };
        const { session } = user;
        expect(await refusal(app.api.post('/1.1/batch/save', { requests: [write] }, { session }))).toEqual([400, 252]);
        expect(await authDataOf(user)).toEqual({ weixin });
      });
    });

    it('a confirmed account under a key of one’s own is not claimed by leaving out what the key is', async () => {
      const id = openid();
      const entry = { ...platforms().weixin.issueToken({ openid: id }), platform: 'weixin' };
      const user = await signUpBy(app.api, { weixin_1: entry });
      expect(await refusal(enter(app.api, { weixin_1: { uid: id } }))).toEqual([400, 251]);
      expect(await refusal(enter(app.api, { weixin_1: { uid: id, platform: 'shop' } }))).toEqual([400, 251]);
      const stranger = await signUp(app.api);
      expect((await refusal(change(app.api, stranger, { authData: { weixin_1: { uid: id } } })))[0]).toBe(400);
      expect(await authDataOf(user)).toEqual({ weixin_1: entry });
    });

    it('platforms that cannot be verified stay unchanged: github and anonymous users', async () => {
      await signUpBy(app.api, { github: uidEntry() });
      await signUpBy(app.api, { anonymous: { id: crypto.randomUUID() } });
    });
  });

  describe('an application with credentials of some platforms', () => {
    let app: PlatformApp;

    beforeAll(async () => {
      app = await createPlatformApp(server(), platforms(), ['weixin']);
    });

    it('believes the others, but not what they say of its platforms’ union ids', async () => {
      const unionid = unique('union');
      const token = platforms().weixin.issueToken({ openid: openid(), unionid });
      await signUpBy(app.api, { weixin: withUnionId(token, unionid, true) });
      for (const isMain of [true, false])
        expect(await refusal(enter(app.api, { lc_weapp: withUnionId(openidEntry(), unionid, isMain) }))).toEqual([
          400, 251,
        ]);
      await signUpBy(app.api, { lc_weapp: openidEntry() });
      await signUpBy(app.api, { qq: openidEntry() });
    });

    it('refuses codes of a platform without credentials: it cannot exchange them', async () => {
      const code = platforms().weapp.issueCode({ openid: openid() });
      expect(await refusal(enter(app.api, { lc_weapp: { code } }))).toEqual([400, 251]);
    });

    it('gives a new session token to whom the platform confirms for the first time: a pretender is out', async () => {
      const id = String(randomInt(1_000_000_000, 9_000_000_000));
      const pretender = await signUpBy(app.api, { weibo: uidEntry(id) });
      await setCredentials(server(), platforms(), app.keys, ['weibo']);
      expect(await refusal(enter(app.api, { weibo: uidEntry(id) }))).toEqual([400, 251]);
      const { status, body } = await enter(app.api, { weibo: platforms().weibo.issueToken({ uid: id }) });
      expect([status, body['objectId']]).toEqual([200, pretender.id]);
      expect(body['sessionToken']).not.toBe(pretender.session);
      expect(await refusal(app.api.get('/1.1/users/me', { session: pretender.session }))).toEqual([400, 211]);
      const again = await enter(app.api, { weibo: platforms().weibo.issueToken({ uid: id }) });
      expect(again.body['sessionToken']).toBe(body['sessionToken']);
    });

    it('with requireVerifiedPlatforms accepts confirmed accounts, and those of platforms that cannot be verified', async () => {
      await setSetting(server(), app.keys, 'requireVerifiedPlatforms', 'true');
      await sleep(EFFECTIVE_MS);
      await signUpBy(app.api, { weixin: platforms().weixin.issueToken({ openid: openid() }) });
      const own = { ...platforms().weixin.issueToken({ openid: openid() }), platform: 'weixin' };
      await signUpBy(app.api, { weixin_1: own });
      expect(await refusal(enter(app.api, { weixin_1: { ...own, access_token: 'wrong' } }))).toEqual([400, 252]);
      expect(await refusal(enter(app.api, { qq: openidEntry() }))).toEqual([400, 251]);
      expect(await refusal(enter(app.api, { qq_1: { ...openidEntry(), platform: 'qq' } }))).toEqual([400, 251]);
      await signUpBy(app.api, { github: uidEntry() });
      await signUpBy(app.api, { anonymous: { id: crypto.randomUUID() } });
    });
  });
}
