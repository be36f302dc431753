import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, type Json, masterClient, unique } from '#testing';
import { refusal } from './refusal.js';
import {
  authDataOf,
  change,
  enter,
  openidEntry,
  ownerOf,
  signUpBy,
  type ThirdPartyUser,
  uidEntry,
  withUnionId,
} from './third-party-accounts.js';

/** Union ids; decisions, third-party accounts. Nothing verifies the platforms here. */
export function describeUnionId(server: () => GatepostServer): void {
  describe('the union id', () => {
    let api: ApiClient;
    /** The id by which WeChat identifies one user, in all apps of one developer. */
    let unionid: string;
    const main = (entry: Json = openidEntry()) => withUnionId(entry, unionid, true);
    const secondary = (entry: Json = uidEntry()) => withUnionId(entry, unionid, false);
    const unionEntry = () => ({ _weixin_unionid: { uid: unionid } });

    beforeAll(() => {
      api = appClient(server());
    });
    beforeEach(() => {
      unionid = unique('union');
    });

    it.each([[true], ['true']])(
      'of an unlinked main account (%j) creates a user with its own entry',
      async (isMain) => {
        const weixin = withUnionId(openidEntry(), unionid, isMain);
        const { body } = await signUpBy(api, { weixin });
        expect(body['authData']).toEqual({ weixin, ...unionEntry() });
        expect(body).toMatchObject({ emailVerified: null, mobilePhoneVerified: false, updatedAt: body['createdAt'] });
      },
    );

    it.each([[false], ['false'], [undefined], [null], ['']])(
      'without a main account (%j) is a plain login',
      async (isMain) => {
        const weixin = withUnionId(openidEntry(), unionid, isMain);
        const user = await signUpBy(api, { weixin });
        expect(user.body['authData']).toEqual({ weixin });
        expect(await ownerOf(api, { weixin })).toBe(user.id);
      },
    );

    it.each<[string, Json]>([
      ['false', { main_account: false }],
      ['missing', {}],
      ['true', { main_account: true }],
    ])('lets another app of the developer in: main_account %s', async (_, mark) => {
      const weixin = main();
      const user = await signUpBy(api, { weixin });
      const weixin_1 = { ...withUnionId(uidEntry(), unionid), ...mark };
      const { status, body } = await enter(api, { weixin_1 });
      expect([status, body['sessionToken']]).toEqual([200, user.session]);
      expect(body['authData']).toEqual({ weixin, weixin_1, ...unionEntry() });
      const { openid } = weixin as { openid?: string };
      expect(await ownerOf(api, { weixin: { openid } })).toBe(user.id);
      expect(await ownerOf(api, { weixin_1 })).toBe(user.id);
    });

    it('joins no users afterwards: secondary first and main later are two users', async () => {
      const weixin_1 = secondary();
      const first = await signUpBy(api, { weixin_1 });
      const second = await signUpBy(api, { weixin: main() });
      expect(second.id).not.toBe(first.id);
      expect(await authDataOf(server(), first)).toEqual({ weixin_1 });
    });

    it('wins over the entry that carries it: that one stays with its user', async () => {
      const weixin_1 = secondary();
      const older = await signUpBy(api, { weixin_1 });
      const weixin = main();
      const user = await signUpBy(api, { weixin });
      const { status, body } = await enter(api, { weixin_1 });
      expect([status, body['objectId'], body['authData']]).toEqual([200, user.id, { weixin, ...unionEntry() }]);
      expect(await authDataOf(server(), older)).toEqual({ weixin_1 });
      const { uid } = weixin_1;
      expect(await ownerOf(api, { weixin_1: { uid, platform: 'weixin' } })).toBe(older.id);
    });

    it('is added to a user who comes again by a main account', async () => {
      const entry = openidEntry();
      const user = await signUpBy(api, { weixin: entry });
      const weixin = main(entry);
      const { status, body } = await enter(api, { weixin });
      expect([status, body['objectId'], body['authData']]).toEqual([200, user.id, { weixin, ...unionEntry() }]);
      expect(await ownerOf(api, { weixin_1: secondary() })).toBe(user.id);
    });

    it('is added by linking a main account, and by nothing less', async () => {
      const user = await signUpBy(api, { github: uidEntry() });
      await change(api, user, { authData: { weixin_1: secondary() } });
      expect(await authDataOf(server(), user)).not.toHaveProperty('_weixin_unionid');
      await change(api, user, { authData: { weixin: main() } });
      expect(await authDataOf(server(), user)).toMatchObject(unionEntry());
      expect(await ownerOf(api, { weixin_2: secondary() })).toBe(user.id);
    });

    it('of another user is not linked: 208, and nothing changes', async () => {
      await signUpBy(api, { weixin: main() });
      const github = uidEntry();
      const user = await signUpBy(api, { github });
      expect(await refusal(change(api, user, { authData: { weixin: main() } }))).toEqual([400, 208]);
      expect(await authDataOf(server(), user)).toEqual({ github });
    });

    it('of one user beside an account of another is refused with 208', async () => {
      await signUpBy(api, { weixin: main() });
      const github = uidEntry();
      const user = await signUpBy(api, { github });
      expect(await refusal(enter(api, { weixin_1: secondary(), github }))).toEqual([400, 208]);
      expect(await authDataOf(server(), user)).toEqual({ github });
    });

    it('counts only with a platform, and is then its entry’s name', async () => {
      const { platform, ...without } = main();
      expect(platform).toBe('weixin');
      const plain = await signUpBy(api, { weixin: without });
      expect(plain.body['authData']).toEqual({ weixin: without });
      const weixin = withUnionId(openidEntry(), unionid, true, 'wxleanoffice');
      const user = await signUpBy(api, { weixin });
      expect(user.body['authData']).toEqual({ weixin, _wxleanoffice_unionid: { uid: unionid } });
    });

    it.each([
      ['weixin', 'lc_weapp'],
      ['qq', 'lc_qqapp'],
    ])('of %s is that of its mini programs', async (platform, miniProgram) => {
      const user = await signUpBy(api, { [platform]: withUnionId(openidEntry(), unionid, true, platform) });
      const entry = withUnionId(openidEntry(), unionid, false, platform);
      expect(await ownerOf(api, { [miniProgram]: entry })).toBe(user.id);
    });

    it('of a platform is not reached by another platform that names it', async () => {
      const weixin = withUnionId(openidEntry(), unionid, true);
      const user = await signUpBy(api, { weixin });
      for (const platform of ['qq', 'weibo', 'taptap', 'lc_qqapp', 'lc_apple'])
        for (const isMain of [true, false]) {
          const entry = withUnionId({ ...openidEntry(), uid: unique('uid') }, unionid, isMain);
          expect(await refusal(enter(api, { [platform]: entry }))).toEqual([400, 251]);
        }
      expect(await authDataOf(server(), user)).toEqual({ weixin, ...unionEntry() });
    });

    it('under a name of one’s own is not reached by another platform either', async () => {
      await signUpBy(api, { weixin: withUnionId(openidEntry(), unionid, true, 'office') });
      const qq = withUnionId(openidEntry(), unionid, false, 'office');
      expect(await refusal(enter(api, { qq }))).toEqual([400, 251]);
      expect(await ownerOf(api, { weixin: withUnionId(openidEntry(), unionid, false, 'office') })).toBeDefined();
    });

    it('does not exist for unknown platforms, nor for anonymous users', async () => {
      const authData = {
        github: withUnionId(uidEntry(), unionid, true, 'github'),
        anonymous: withUnionId({ id: crypto.randomUUID() }, unionid, true),
      };
      await signUpBy(api, { weixin: main() });
      const [byGithub, byId] = [
        await signUpBy(api, { github: authData.github }),
        await signUpBy(api, { anonymous: authData.anonymous }),
      ];
      expect(byGithub.body['authData']).toEqual({ github: authData.github });
      expect(byId.body['authData']).toEqual({ anonymous: authData.anonymous });
    });

    it('goes with the last account that carries it', async () => {
      const user = await signUpBy(api, { weixin: main(), github: uidEntry() });
      await enter(api, { weixin_1: secondary() });
      await change(api, user, { 'authData.weixin': { __op: 'Delete' } });
      expect(await authDataOf(server(), user)).toHaveProperty('_weixin_unionid');
      await change(api, user, { authData: { weixin_1: null } });
      expect(Object.keys((await authDataOf(server(), user)) as Json)).toEqual(['github']);
      expect((await signUpBy(api, { weixin: main() })).id).not.toBe(user.id);
    });

    it('goes with its user', async () => {
      const user = await signUpBy(api, { weixin: main() });
      await masterClient(server()).delete(`/1.1/users/${user.id}`);
      expect((await signUpBy(api, { weixin: main() })).body['authData']).toHaveProperty('_weixin_unionid');
    });

    it('that an unlinking has removed may be resent beside other entries, and stays removed', async () => {
      const user = await signUpBy(api, { weixin: main() });
      await change(api, user, { 'authData.weixin': { __op: 'Delete' } });
      const [qq, github] = [openidEntry(), uidEntry()];
      expect((await change(api, user, { authData: { qq, ...unionEntry() } })).status).toBe(200);
      expect((await change(api, user, { authData: { github, ...unionEntry() } })).status).toBe(200);
      expect((await change(api, user, { authData: { github: null, ...unionEntry() } })).status).toBe(200);
      expect(await authDataOf(server(), user)).toEqual({ qq });
      expect(await refusal(change(api, user, { authData: unionEntry() }))).toEqual([400, 117]);
    });

    it.each<[string, Json]>([
      ['unlinked', { 'authData.lc_weapp': { __op: 'Delete' } }],
      [
        'replaced by one of another union id',
        { authData: { lc_weapp: withUnionId(openidEntry(), unique('third'), false) } },
      ],
    ])('lets in no account that has been %s', async (_, removal) => {
      const user = await signUpBy(api, { weixin: main() });
      const lc_weapp = withUnionId(openidEntry(), unique('second'), true);
      expect((await change(api, user, { authData: { lc_weapp } })).status).toBe(200);
      expect(await ownerOf(api, { lc_weapp })).toBe(user.id);
      expect((await change(api, user, removal)).status).toBe(200);
      expect(await authDataOf(server(), user)).not.toHaveProperty('_weixin_unionid');
      expect(await ownerOf(api, { lc_weapp })).not.toBe(user.id);
    });

    it('is linked and unlinked by no client', async () => {
      const user = await signUpBy(api, { weixin: main() });
      const before = await authDataOf(server(), user);
      for (const body of [
        { authData: { _weixin_unionid: { uid: unique('union') } } },
        { authData: { _weixin_unionid: null } },
        { 'authData._weixin_unionid': { __op: 'Delete' } },
      ])
        expect(await refusal(change(api, user, body))).toEqual([400, 117]);
      expect(await authDataOf(server(), user)).toEqual(before);
    });

    it('is refreshed by its own entry, sent back whole as some SDKs do', async () => {
      const weixin = main();
      const user: ThirdPartyUser = await signUpBy(api, { weixin });
      const github = uidEntry();
      const whole = { ...(user.body['authData'] as Json), github };
      const { status } = await change(api, user, { authData: whole });
      expect(status).toBe(200);
      expect(await authDataOf(server(), user)).toEqual({ weixin, ...unionEntry(), github });
      const { status: again, body } = await enter(api, whole);
      expect([again, body['sessionToken']]).toEqual([200, user.session]);
    });
  });
}
