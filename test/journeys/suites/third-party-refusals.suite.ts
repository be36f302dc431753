import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  appClient,
  countUsers,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  setSetting,
  signUp,
  type TestUser,
  unique,
} from '#testing';
import { refusal } from './refusal.js';
import { change, enter, openidEntry, ownerOf, signUpBy, uidEntry, withUnionId } from './third-party-accounts.js';

const SETTING_MS = 3_000;
const TOO_LONG = 'x'.repeat(256);
const MANY = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`p${index}`, { uid: `many${index}` }]));
const LARGE = Object.fromEntries(
  Array.from({ length: 5 }, (_, index) => [`p${index}`, { uid: `large${index}`, access_token: 'x'.repeat(15_000) }]),
);
const named = (platform: string) => ({ [platform]: { uid: 'named' } });
const weixin = (openid: unknown) => ({ weixin: { openid, access_token: 't' } });
const union = (fields: Json) => ({ weixin: { ...withUnionId(openidEntry('union'), 'u1', true), ...fields } });

/** Invalid values of `authData`. None of them creates a user, and none is linked. */
const REFUSED: readonly [string, unknown, number][] = [
  ['an entry without its id', { weixin: { access_token: 't' } }, 250],
  ['an empty entry', { github: {} }, 250],
  ['the name of the id of other platforms', { weixin: { uid: '1' } }, 250],
  ['openid for a platform that has uid', { github: { openid: '1' } }, 250],
  ['an anonymous entry with a uid', { anonymous: { uid: '1' } }, 250],
  ['an empty id', weixin(''), 250],
  ['an id that is null', weixin(null), 250],
  ['a good entry beside one without id', { github: { uid: 'beside' }, weixin: {} }, 250],
  ['an id that is an operator', weixin({ $ne: null }), 251],
  ['an id that is a pattern', weixin({ $regex: '.*' }), 251],
  ['an id that is an operation', weixin({ __op: 'Delete' }), 251],
  ['an id that is a list', weixin(['1']), 251],
  ['an id that is true', weixin(true), 251],
  ['an id that is a fraction', { github: { uid: 1.5 } }, 251],
  ['an id of 256 letters', weixin(TOO_LONG), 251],
  ['an id with a NUL byte', weixin('a\0'), 251],
  ['half of a surrogate pair in an id', weixin('a\ud83d'), 251],
  ['an id of blanks', weixin('  '), 251],
  ['an anonymous id that is an object', { anonymous: { id: { $exists: true } } }, 251],
  ['an anonymous id that can be guessed', { anonymous: { id: '1' } }, 251],
  ['an anonymous id that is a number', { anonymous: { id: 1 } }, 251],
  ['an anonymous id of 31 digits', { anonymous: { id: 'a'.repeat(31) } }, 251],
  ['a union id that is an object', union({ unionid: { $ne: null } }), 251],
  ['the union id of another platform', { weibo: withUnionId(uidEntry('union'), 'u1', true) }, 251],
  ['a main account of neither word', union({ main_account: 'maybe' }), 111],
  ['a platform of a union id that is a number', union({ platform: 1 }), 111],
  ['a platform of a union id with a dot', union({ platform: 'weixin.x' }), 111],
  ['a platform of a union id that is a prototype', union({ platform: 'constructor' }), 111],
  ['text for an entry', { weixin: 'x' }, 111],
  ['a list for an entry', { weixin: [{ openid: '1' }] }, 111],
  ['an operation for an entry', { weixin: { __op: 'Add', objects: [{ openid: '1' }] } }, 111],
  ['text', 'x', 111],
  ['a list', [weixin('1')], 111],
  ['true', true, 111],
  ['an operation', { __op: 'Delete' }, 111],
  ['21 platforms', MANY, 111],
  ['a platform named constructor', named('constructor'), 105],
  ['a platform named prototype', named('prototype'), 105],
  ['a platform with a dot', named('weixin.x'), 105],
  ['a platform with a blank', named('we xin'), 105],
  ['a platform with $', named('$weixin'), 105],
  ['a platform that begins with a digit', named('1weixin'), 105],
  ['a platform without a name', named(''), 105],
  ['a platform of 65 letters', named('p'.repeat(65)), 105],
  ['the entry of a union id', { _weixin_unionid: { uid: 'u1' } }, 117],
  ['an entry that only the server could have made', { _shop: { uid: '1' } }, 117],
  ['more than 64 KiB in all', LARGE, 116],
  ['an entry of more than 16 KiB', { github: { uid: 'large', access_token: 'x'.repeat(16_384) } }, 116],
];

/** Paths into authData, and bodies that no object literal can be. */
const REFUSED_BODIES: readonly [string, string, number][] = [
  ['a platform named __proto__', '{"authData": {"__proto__": {"uid": "1"}}}', 105],
  ['a __proto__ within an entry', '{"authData": {"github": {"uid": "1", "__proto__": {"uid": "2"}}}}', 105],
  ['a path to a prototype', '{"authData.__proto__": {"uid": "1"}}', 105],
  ['a path into an entry', '{"authData.weixin.openid": "1"}', 105],
  ['a path that ends with a dot', '{"authData.": {"uid": "1"}}', 105],
  ['a platform twice', '{"authData": {"github": {"uid": "1"}}, "authData.github": {"uid": "2"}}', 105],
];

/** Threats, class 4 (authData trust): what peers had their worst holes in. */
export function describeThirdPartyRefusals(server: () => GatepostServer): void {
  describe('authData that is refused', () => {
    let api: ApiClient;
    let user: TestUser;
    const state = async () => [
      await countUsers(server()),
      (await masterClient(server()).get(`/1.1/users/${user.id}`)).body,
    ];

    beforeAll(async () => {
      api = appClient(server());
      user = await signUp(api);
    });

    it.each(REFUSED)('%s: by a sign-up and by an update', async (_, authData, code) => {
      const before = await state();
      expect(await refusal(api.post('/1.1/users', { authData }))).toEqual([400, code]);
      const account = { username: unique('bad'), password: 'p' };
      expect(await refusal(api.post('/1.1/users', { ...account, authData }))).toEqual([400, code]);
      expect(await refusal(change(api, user, { authData, color: 'red' }))).toEqual([400, code]);
      expect(await state()).toEqual(before);
    });

    it.each(REFUSED_BODIES)('%s: by a sign-up and by an update', async (_, body, code) => {
      const before = await state();
      expect(await refusal(api.post('/1.1/users', body))).toEqual([400, code]);
      const { session } = user;
      expect(await refusal(api.put(`/1.1/users/${user.id}`, body, { session }))).toEqual([400, code]);
      expect(await state()).toEqual(before);
    });

    it.each<[string, Json]>([
      ['{}', { authData: {} }],
      ['null', { authData: null }],
      ['an entry that is null', { authData: { weixin: null } }],
      ['the removal of an entry', { authData: { weixin: { __op: 'Delete' } } }],
      ['the removal of an entry by its path', { 'authData.weixin': { __op: 'Delete' } }],
    ])('%s is none: it never opens a session, and takes nothing off a sign-up with a password', async (_, body) => {
      expect(await refusal(api.post('/1.1/users', body))).toEqual([400, 200]);
      expect(await refusal(api.post('/1.1/users', { ...body, username: unique('x') }))).toEqual([400, 201]);
      const { body: signedUp } = await signUp(api, body);
      expect(signedUp['authData']).toBeUndefined();
    });

    it.each<[string, Json, number]>([
      ['an address that is none', { email: 'not-an-address' }, 125],
      ['a phone number that is none', { mobilePhoneNumber: 'call me' }, 127],
      ['a username that is a number', { username: 7 }, 217],
      ['a password that is a list', { password: ['p'] }, 218],
      ['its own objectId', { objectId: 'a'.repeat(24) }, 117],
      ['its own sessionToken', { sessionToken: 'a'.repeat(25) }, 117],
      ['its own emailVerified', { email: 'x@example.com', emailVerified: true }, 117],
      ['an ACL that is text', { ACL: 'public' }, 123],
      ['a nested name with $', { a: { $x: 1 } }, 121],
    ])('a sign-up with %s leaves nothing behind', async (_, fields, code) => {
      const before = await state();
      const github = uidEntry();
      expect(await refusal(enter(api, { github }, fields))).toEqual([400, code]);
      expect(await ownerOf(api, { github })).toBeUndefined();
      expect(await state()).toEqual(before);
    });

    it('a sign-up with a taken name leaves nothing behind: the account can still be anybody’s', async () => {
      const [github, { username }] = [uidEntry(), user];
      expect(await refusal(enter(api, { github }, { username }))).toEqual([400, 202]);
      expect((await signUpBy(api, { github })).body['username']).not.toBe(username);
    });
  });

  describe('authData where it has no business', () => {
    let api: ApiClient;
    let owner: TestUser;
    const github = uidEntry();
    const authData = { github };

    beforeAll(async () => {
      api = appClient(server());
      owner = await signUp(api);
      await change(api, owner, { authData });
    });

    it('is nothing to POST /1.1/login: it opens no session, and links nothing', async () => {
      for (const body of [{ authData }, { username: owner.username, authData }])
        expect((await refusal(api.post('/1.1/login', body)))[0]).toBe(400);
      const stranger = await signUp(api);
      const { username, password } = stranger;
      const { body } = await api.post('/1.1/login', { username, password, authData: { gitlab: uidEntry() } });
      expect([body['objectId'], body['authData']]).toEqual([stranger.id, undefined]);
    });

    it('stays with its user when another takes it for an ordinary field', async () => {
      const fields = { authdata: authData, AuthData: authData, auth_data: authData };
      const stranger = await signUpBy(api, { gitlab: uidEntry() }, fields);
      expect(stranger.id).not.toBe(owner.id);
      expect(await ownerOf(api, authData)).toBe(owner.id);
    });
  });

  describe('logins by authData that are refused', () => {
    let app: AppKeys;
    let api: ApiClient;
    let master: ApiClient;

    beforeAll(async () => {
      app = await createApplication(server());
      const [baseUrl = ''] = server().baseUrls;
      [api, master] = [ApiClient.forApp(baseUrl, app), ApiClient.forMaster(baseUrl, app)];
      await eventually(() => signUp(api));
    });

    it('219 with Retry-After while the user is locked out', async () => {
      const [github, username] = [uidEntry(), unique('locked')];
      await signUpBy(api, { github }, { username, password: 'right' });
      for (let attempt = 0; attempt < 7; attempt += 1) await api.post('/1.1/login', { username, password: 'wrong' });
      const { status, headers, body } = await enter(api, { github, qq: openidEntry() });
      expect([status, body['code']]).toEqual([400, 219]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(800);
    });

    it('403 for a new user where class permissions forbid to create one; an existing user logs in', async () => {
      const permit = (who: string) => gatepost(server(), 'permissions', 'set', app.id, '_User', 'create', who);
      const github = uidEntry();
      const user = await signUpBy(api, { github });
      await permit('nobody');
      await eventually(async () => {
        expect(await refusal(enter(api, { github: uidEntry() }))).toEqual([403, 403]);
      }, SETTING_MS);
      const { status, body } = await enter(api, { github, qq: openidEntry() });
      expect([status, body['objectId']]).toEqual([200, user.id]);
      await permit('everyone');
      await eventually(() => signUp(api), SETTING_MS);
    });

    it('216 and 215 where settings keep unverified users out', async () => {
      await setSetting(server(), app, 'forbidUnverifiedPhoneLogin', 'true');
      await setSetting(server(), app, 'verifyEmailOnSignUp', 'true');
      await setSetting(server(), app, 'forbidUnverifiedEmailLogin', 'true');
      await eventually(async () => {
        const github = uidEntry();
        await signUpBy(api, { github }, { email: `${unique('mail')}@example.com` });
        expect(await refusal(enter(api, { github }))).toEqual([400, 216]);
      }, SETTING_MS);
      const [github, anonymous] = [uidEntry(), { id: crypto.randomUUID() }];
      const user = await signUpBy(api, { github }, { mobilePhoneNumber: '+8613900000001' });
      expect(await refusal(enter(api, { github }))).toEqual([400, 215]);
      await master.put(`/1.1/users/${user.id}`, { mobilePhoneVerified: true });
      expect((await enter(api, { github })).status).toBe(200);
      await signUpBy(api, { anonymous });
      expect((await enter(api, { anonymous })).status).toBe(200);
    });

    it('251, or 252 of weixin, if a setting demands proof and none is given', async () => {
      const [before, later] = [openidEntry(), openidEntry()];
      const user = await signUpBy(api, { weixin: before });
      await setSetting(server(), app, 'requireVerifiedPlatforms', 'true');
      await eventually(async () => {
        expect(await refusal(enter(api, { weixin: before }))).toEqual([400, 252]);
      }, SETTING_MS);
      expect(await refusal(enter(api, { weixin: later }))).toEqual([400, 252]);
      expect(await refusal(enter(api, { weixin_1: { ...later, platform: 'weixin' } }))).toEqual([400, 252]);
      expect(await refusal(change(api, user, { authData: { weixin: later } }))).toEqual([400, 252]);
      for (const platform of [
        'weibo',
        'qq',
        'taptap',
        'lc_apple',
        'lc_weapp',
        'lc_qqapp',
        'lc_baidu',
        'lc_alipay',
        'lc_tt',
      ])
        expect([platform, ...(await refusal(enter(api, { [platform]: { ...later, uid: '1' } })))]).toEqual([
          platform,
          400,
          251,
        ]);
      await signUpBy(api, { github: uidEntry() });
      await signUpBy(api, { anonymous: { id: crypto.randomUUID() } });
    });
  });
}
