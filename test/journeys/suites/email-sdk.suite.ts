import AV from 'leancloud-storage';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiReply, type GatepostServer, unique } from '#testing';
import { EmailClient, type MailingApps } from './email-client.js';

/** The e-mail methods of the client library as it is on npm. */
export function describeEmailSdk(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('the npm package leancloud-storage: e-mail', () => {
    let client: EmailClient;
    const linkOf = (call: () => Promise<unknown>) =>
      client.linkOf(async () => {
        await call();
        return { status: 200, body: {} } as ApiReply;
      });
    const signUp = async () => {
      const user = new AV.User();
      user.setUsername(unique('sdk'));
      user.setPassword('first password');
      user.setEmail(client.address);
      await user.signUp();
      return user;
    };

    beforeAll(() => {
      const { id, appKey } = apps().verifying;
      AV.init({ appId: id, appKey, serverURL: server().baseUrls[0] ?? '' });
    });
    beforeEach(async () => {
      client = new EmailClient(server(), apps().verifying);
      await AV.User.logOut();
    });

    it('User.signUp with an address, User.requestEmailVerify, User.loginWithEmail', async () => {
      const { token } = await linkOf(signUp);
      expect(AV.User.current().get('emailVerified')).toBe(false);
      const again = await linkOf(() => AV.User.requestEmailVerify(client.address));
      expect(again.token).not.toBe(token);
      await client.verify(again.token);
      const user = await AV.User.loginWithEmail(client.address, 'first password');
      expect([user.getEmail(), user.get('emailVerified')]).toEqual([client.address, true]);
    });

    it('User.requestPasswordReset', async () => {
      await linkOf(signUp);
      const user = AV.User.current();
      const { token } = await linkOf(() => AV.User.requestPasswordReset(client.address));
      await client.reset(token, 'second password');
      await expect(AV.User.loginWithEmail(client.address, 'first password')).rejects.toMatchObject({ code: 210 });
      const again = await AV.User.loginWithEmail(client.address, 'second password');
      expect([again.id, again.getSessionToken() === user.getSessionToken()]).toEqual([user.id, false]);
    });

    it('says why a request fails', async () => {
      await expect(AV.User.requestEmailVerify(client.address)).rejects.toMatchObject({ code: 205 });
      await expect(AV.User.requestPasswordReset(client.address)).rejects.toMatchObject({ code: 205 });
    });
  });
}
