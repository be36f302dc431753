import AV from 'leancloud-storage';
import { beforeAll, describe, expect, it } from 'vitest';
import { appClient, type GatepostServer } from '#testing';

/** The library has the method; its types have not. */
type WithUpdatePassword = AV.User & { updatePassword(oldPassword: string, newPassword: string): Promise<unknown> };

/** The client library as it is on npm, pointed at this server: what a shipped app does. */
export function describeSdk(server: () => GatepostServer): void {
  describe('the npm package leancloud-storage', () => {
    const account = {
      username: 'grace',
      password: 'first password',
      email: 'grace@example.com',
      phone: '+8613812345678',
    };
    let firstToken: string;

    beforeAll(() => {
      const { app, baseUrls } = server();
      AV.init({ appId: app.id, appKey: app.appKey, serverURL: baseUrls[0] ?? '' });
    });

    it('signs up', async () => {
      const user = new AV.User();
      user.setUsername(account.username);
      user.setPassword(account.password);
      user.setEmail(account.email);
      user.setMobilePhoneNumber(account.phone);
      user.set('color', 'green');
      await user.signUp();
      firstToken = user.getSessionToken();
      expect(user.id).toMatch(/^[0-9a-f]{24}$/);
      expect(firstToken).toMatch(/^[0-9a-z]{25}$/);
      expect(user.createdAt).toBeInstanceOf(Date);
    });

    it('logs in by username', async () => {
      const user = await AV.User.logIn(account.username, account.password);
      expect(user.getEmail()).toBe(account.email);
      expect(user.get('color')).toBe('green');
    });

    it('logs in by e-mail', async () => {
      const user = await AV.User.loginWithEmail(account.email, account.password);
      expect(user.getUsername()).toBe(account.username);
    });

    it('logs in by phone number', async () => {
      const user = await AV.User.logInWithMobilePhone(account.phone, account.password);
      expect(user.getSessionToken()).toBe(firstToken);
    });

    it('says why a login fails', async () => {
      await expect(AV.User.logIn(account.username, 'wrong')).rejects.toMatchObject({ code: 210 });
      await expect(AV.User.logIn('unknown', 'wrong')).rejects.toMatchObject({ code: 211 });
    });

    it('becomes the user of a token, and reads itself', async () => {
      const user = await AV.User.become(firstToken);
      expect(user.getUsername()).toBe(account.username);
      expect(await user.isAuthenticated()).toBe(true);
      await user.fetch();
      expect(user.get('color')).toBe('green');
    });

    it('changes a custom field', async () => {
      const user = await AV.User.become(firstToken);
      user.set('color', 'blue');
      await user.save();
      const again = await AV.User.become(firstToken);
      expect(again.get('color')).toBe('blue');
      expect(again.updatedAt?.getTime()).toBeGreaterThanOrEqual(user.createdAt?.getTime() ?? Infinity);
    });

    it('changes fields by operations, and within fields', async () => {
      const user = await AV.User.become(firstToken);
      user.increment('score', 2);
      user.addUnique('tags', 'a');
      user.bitOr('flags', 6);
      user.set('address', { city: 'Ulm', zip: 89073 });
      user.set('seen', new Date('2026-01-02T00:00:00.000Z'));
      await user.save();
      user.increment('score', -5);
      user.add('tags', 'b');
      user.bitXor('flags', 3);
      user.set('address.city', 'Bonn');
      user.unset('color');
      await user.save(null, { fetchWhenSave: true });
      user.remove('tags', 'a');
      await user.save();
      const again = await AV.User.become(firstToken);
      expect(again.toJSON()).toMatchObject({
        score: -3,
        tags: ['b'],
        flags: 5,
        address: { city: 'Bonn', zip: 89073 },
      });
      expect([again.get('seen'), again.get('color')]).toEqual([new Date('2026-01-02T00:00:00.000Z'), undefined]);
    });

    it('hides itself from others by an ACL, and shows itself again', async () => {
      const user = await AV.User.become(firstToken);
      user.set('mood', 'calm');
      user.setACL(new AV.ACL(user));
      await user.save();
      const withUnknownToken = { sessionToken: 'unknown' };
      const other = AV.Object.createWithoutData('_User', user.id ?? '');
      await expect(other.fetch({}, withUnknownToken)).rejects.toMatchObject({ code: 211 });
      expect((await user.fetch()).get('mood')).toBe('calm');
      const open = new AV.ACL(user);
      open.setPublicReadAccess(true);
      user.setACL(open);
      await user.save();
      expect((await other.fetch({}, withUnknownToken)).get('mood')).toBe('calm');
    });

    it('saves only where a condition is met', async () => {
      const user = await AV.User.become(firstToken);
      const isCalm = new AV.Query<AV.User>('_User').equalTo('mood', 'calm');
      user.set('mood', 'glad');
      await user.save(null, { query: isCalm, fetchWhenSave: true });
      user.set('mood', 'cross');
      await expect(user.save(null, { query: isCalm })).rejects.toMatchObject({ code: 305 });
    });

    it('changes its password: the old token is dead, the new one works', async () => {
      const user = await AV.User.become(firstToken);
      await (user as WithUpdatePassword).updatePassword(account.password, 'second password');
      const newToken = user.getSessionToken();
      expect(newToken).not.toBe(firstToken);
      await expect(AV.User.become(firstToken)).rejects.toMatchObject({ code: 211 });
      expect((await AV.User.become(newToken)).id).toBe(user.id);
      await expect(AV.User.logIn(account.username, account.password)).rejects.toMatchObject({ code: 210 });
    });

    it('renews its token', async () => {
      const user = await AV.User.logIn(account.username, 'second password');
      const before = user.getSessionToken();
      await user.refreshSessionToken();
      expect(user.getSessionToken()).not.toBe(before);
      await expect(AV.User.become(before)).rejects.toMatchObject({ code: 211 });
    });

    it('deletes itself', async () => {
      const user = await AV.User.logIn(account.username, 'second password');
      await user.destroy();
      await expect(AV.User.logIn(account.username, 'second password')).rejects.toMatchObject({ code: 211 });
      const { status, body } = await appClient(server()).get(`/1.1/users/${user.id ?? ''}`);
      expect([status, body['code']]).toEqual([400, 211]);
    });
  });
}
