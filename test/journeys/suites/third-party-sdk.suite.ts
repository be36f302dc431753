import AV from 'leancloud-storage';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AppKeys, type GatepostServer, type Json, type PlatformServer, unique } from '#testing';
import { createPlatformApp } from './platform-apps.js';

/** The library has more than its types. */
interface MiniAppAdapters {
  setAdapters(adapters: { getAuthInfo: () => Promise<{ provider: string; authData: Json; platform: string }> }): void;
}

const openid = () => ({ openid: unique('openid'), access_token: unique('token'), expires_in: 7_200 });
const uid = () => ({ uid: unique('uid'), access_token: unique('token') });
const authDataOf = (user: AV.User) => user.get('authData') as Json;

/** The third-party methods of the client library as it is on npm. */
export function describeThirdPartySdk(server: () => GatepostServer, platforms: () => PlatformServer): void {
  const initialise = ({ id, appKey }: AppKeys) => {
    AV.init({ appId: id, appKey, serverURL: server().baseUrls[0] ?? '' });
  };

  describe('the npm package leancloud-storage: accounts on other platforms', () => {
    beforeAll(() => {
      initialise(server().app);
    });
    beforeEach(async () => {
      await AV.User.logOut();
    });

    it('User.loginWithAuthData signs up, and logs in again', async () => {
      const weixin = openid();
      const user = await AV.User.loginWithAuthData(weixin, 'weixin');
      expect(user.getUsername()).toMatch(/^[0-9a-z]{25}$/);
      expect(authDataOf(user)).toEqual({ weixin });
      expect(AV.User.current().id).toBe(user.id);
      await AV.User.logOut();
      const newer = { ...weixin, access_token: unique('token') };
      const again = await AV.User.loginWithAuthData(newer, 'weixin');
      expect([again.id, again.getSessionToken(), authDataOf(again)]).toEqual([
        user.id,
        user.getSessionToken(),
        { weixin: newer },
      ]);
      expect(await again.isAuthenticated()).toBe(true);
    });

    it('User.loginWithAuthData with failOnNotExist signs no user up', async () => {
      const github = uid();
      const logIn = () => AV.User.loginWithAuthData(github, 'github', { failOnNotExist: true });
      await expect(logIn()).rejects.toMatchObject({ code: 211 });
      const user = await AV.User.loginWithAuthData(github, 'github');
      expect((await logIn()).id).toBe(user.id);
    });

    it('user.loginWithAuthData takes what was set before', async () => {
      const user = new AV.User();
      user.setUsername(unique('named'));
      user.set('color', 'green');
      await user.loginWithAuthData(uid(), 'github');
      const read = await AV.User.become(user.getSessionToken());
      expect([read.getUsername(), read.get('color')]).toEqual([user.getUsername(), 'green']);
    });

    it('user.associateWithAuthData links several platforms, and each logs in', async () => {
      const [weixin, github] = [openid(), uid()];
      const user = await AV.User.signUp(unique('linked'), 'correct horse');
      await user.associateWithAuthData(weixin, 'weixin');
      await user.associateWithAuthData(github, 'github');
      expect(authDataOf(await AV.User.become(user.getSessionToken()))).toEqual({ weixin, github });
      await AV.User.logOut();
      expect((await AV.User.loginWithAuthData(weixin, 'weixin')).id).toBe(user.id);
      expect((await AV.User.loginWithAuthData(github, 'github')).id).toBe(user.id);
    });

    it('user.associateWithAuthData says whose the account is not', async () => {
      const github = uid();
      await AV.User.loginWithAuthData(github, 'github');
      const other = await AV.User.signUp(unique('other'), 'correct horse');
      await expect(other.associateWithAuthData(github, 'github')).rejects.toMatchObject({ code: 208 });
    });

    it('user.dissociateAuthData frees the account', async () => {
      const [weixin, github] = [openid(), uid()];
      const user = await AV.User.loginWithAuthData(weixin, 'weixin');
      await user.associateWithAuthData(github, 'github');
      await user.dissociateAuthData('weixin');
      expect(authDataOf(await AV.User.become(user.getSessionToken()))).toEqual({ github });
      await AV.User.logOut();
      expect((await AV.User.loginWithAuthData(weixin, 'weixin')).id).not.toBe(user.id);
    });

    it('User.loginAnonymously; the user becomes normal by signUp with a name and a password', async () => {
      const user = await AV.User.loginAnonymously();
      expect(user.isAnonymous()).toBe(true);
      const [username, { anonymous }] = [unique('grown'), authDataOf(user)];
      user.setUsername(username);
      user.setPassword('correct horse');
      await user.signUp();
      expect(user.isAnonymous()).toBe(false);
      const again = await AV.User.logIn(username, 'correct horse');
      expect([again.id, again.isAnonymous(), again.get('authData')]).toEqual([user.id, false, {}]);
      await AV.User.logOut();
      const next = await AV.User.loginWithAuthData(anonymous as AV.AnonymousAuthData, 'anonymous');
      expect(next.id).not.toBe(user.id);
    });

    it('User.loginAnonymously; the user becomes normal by a platform', async () => {
      const user = await AV.User.loginAnonymously();
      const weixin = openid();
      await user.associateWithAuthData(weixin, 'weixin');
      const read = await AV.User.become(user.getSessionToken());
      expect([read.isAnonymous(), authDataOf(read)]).toEqual([false, { weixin }]);
    });

    it('User.loginWithAuthDataAndUnionId joins the apps of one developer', async () => {
      const [unionId, weixin] = [unique('union'), openid()];
      const asMain = { unionIdPlatform: 'weixin', asMainAccount: true };
      const user = await AV.User.loginWithAuthDataAndUnionId(weixin, 'weixin', unionId, asMain);
      expect(authDataOf(user)).toMatchObject({ weixin, _weixin_unionid: { uid: unionId } });
      await AV.User.logOut();
      const other = await AV.User.loginWithAuthDataAndUnionId(uid(), 'weixin_1', unionId, { asMainAccount: false });
      expect([other.id, Object.keys(authDataOf(other)).sort()]).toEqual([
        user.id,
        ['_weixin_unionid', 'weixin', 'weixin_1'],
      ]);
    });

    it('user.associateWithAuthDataAndUnionId makes the user the one of the union id', async () => {
      const unionId = unique('union');
      const user = await AV.User.signUp(unique('main'), 'correct horse');
      await user.associateWithAuthDataAndUnionId(openid(), 'weixin', unionId, { asMainAccount: true });
      await AV.User.logOut();
      const other = await AV.User.loginWithAuthDataAndUnionId(uid(), 'weixin_1', unionId);
      expect(other.id).toBe(user.id);
    });
  });

  describe('the npm package leancloud-storage: mini programs', () => {
    beforeAll(async () => {
      const { keys } = await createPlatformApp(server(), platforms(), ['lc_weapp']);
      initialise(keys);
      await AV.User.logOut();
    });

    it('User.loginWithMiniApp sends the code that the adapter gets, and the platform names the account', async () => {
      const account = { openid: unique('openid'), unionid: unique('union') };
      const getAuthInfo = () =>
        Promise.resolve({
          provider: 'lc_weapp',
          authData: { code: platforms().weapp.issueCode(account) },
          platform: 'weixin',
        });
      (AV as unknown as MiniAppAdapters).setAdapters({ getAuthInfo });
      const user = await AV.User.loginWithMiniApp();
      expect(authDataOf(user)['lc_weapp']).toMatchObject({ openid: account.openid });
      await AV.User.logOut();
      const again = await AV.User.loginWithMiniApp(await getAuthInfo(), { failOnNotExist: true });
      expect([again.id, again.getSessionToken()]).toEqual([user.id, user.getSessionToken()]);
      await expect(
        AV.User.loginWithMiniApp({ provider: 'lc_weapp', authData: { code: 'wrong' }, platform: 'weixin' }),
      ).rejects.toMatchObject({ code: 251 });
    });
  });
}
