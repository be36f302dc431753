import { beforeEach, describe, expect, it } from 'vitest';
import { type GatepostServer, type TestUser, unique, uniquePhone } from '#testing';
import { EmailClient, LINK_EXPIRED, type MailingApps, outcomeOf } from './email-client.js';
import { PhoneClient } from './phone-client.js';
import { refusal } from './refusal.js';

const NEW_PASSWORD = 'another horse';

/** The forgotten password, by mail. */
export function describePasswordReset(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('the link that resets a password', () => {
    let client: EmailClient;
    let user: TestUser;
    const dead = async (token: string) => {
      expect(await outcomeOf(client.reset(token, 'too late'))).toEqual(LINK_EXPIRED);
    };

    beforeEach(async () => {
      client = new EmailClient(server());
      user = await client.signUp();
    });

    it('is mailed to the address of a user, whatever the state of that', async () => {
      const { status, body } = await client.post('requestPasswordReset');
      expect([status, body]).toEqual([200, {}]);
      const { link, token } = await client.linkBy('requestPasswordReset');
      expect(link).toMatch(/^http:\/\/localhost:\d+\/pages\/reset-password\?token=\w+$/);
      expect((await client.mails()).map(({ html }) => html)).toContainEqual(expect.stringContaining(token));
      const { password, session } = user;
      expect((await client.logIn(password)).body['sessionToken']).toBe(session);
    });

    it('is refused for an unknown address', async () => {
      const unregistered = new EmailClient(server());
      expect(await refusal(unregistered.post('requestPasswordReset'))).toEqual([400, 205]);
      expect(await refusal(unregistered.post('requestPasswordReset', { email: undefined }))).toEqual([400, 204]);
      for (const email of [7, {}, [client.address], true])
        expect((await refusal(unregistered.post('requestPasswordReset', { email })))[0]).toBe(400);
    });

    it('sets a new password and ends the session, on every gateway at once', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      for (const gateway of [0, 1]) await client.me(user.session, gateway);
      const { status, body } = await client.reset(token, NEW_PASSWORD);
      expect([status, body]).toEqual([200, {}]);
      for (const gateway of [0, 1, 0, 1]) {
        expect((await client.me(user.session, gateway))['code']).toBe(211);
        const write = client.api(gateway).put(`/1.1/users/${user.id}`, { a: 1 }, { session: user.session });
        expect(await refusal(write)).toEqual([403, 206]);
      }
      expect(await refusal(client.logIn(user.password))).toEqual([400, 210]);
      const login = await client.logIn(NEW_PASSWORD);
      expect([login.status, login.body['objectId']]).toEqual([200, user.id]);
      expect(login.body['sessionToken']).not.toBe(user.session);
    });

    it('invalidates all other links, older and newer, once it is used', async () => {
      const links = [
        await client.linkBy('requestPasswordReset'),
        await client.linkBy('requestPasswordReset'),
        await client.linkBy('requestPasswordReset'),
      ];
      expect((await client.reset(links[1]?.token ?? '', NEW_PASSWORD)).status).toBe(200);
      for (const { token } of links) await dead(token);
      expect((await client.logIn(NEW_PASSWORD)).status).toBe(200);
    });

    it('unlocks a locked user', async () => {
      for (let attempt = 0; attempt < 7; attempt += 1) await client.logIn('wrong');
      expect(await refusal(client.logIn(user.password))).toEqual([400, 219]);
      const { token } = await client.linkBy('requestPasswordReset');
      expect(await refusal(client.logIn(user.password))).toEqual([400, 219]);
      await client.reset(token, NEW_PASSWORD);
      expect((await client.logIn(NEW_PASSWORD)).status).toBe(200);
      expect(await refusal(client.logIn('wrong'))).toEqual([400, 210]);
    });

    it('becomes invalid at any other change of the password', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      await client
        .api()
        .put(
          `/1.1/users/${user.id}/updatePassword`,
          { old_password: user.password, new_password: NEW_PASSWORD },
          { session: user.session },
        );
      await dead(token);
      const second = await client.linkBy('requestPasswordReset');
      await client.master().put(`/1.1/users/${user.id}`, { password: 'by the master' });
      await dead(second.token);
      expect((await client.logIn('by the master')).status).toBe(200);
    });

    it('becomes invalid at a reset by a code', async () => {
      const phone = new PhoneClient(server());
      const owner = await phone.signUpProven({ email: client.address.replace('@', '.owner@') });
      const mailed = new EmailClient(server(), undefined, String(owner.body['email']));
      const { token } = await mailed.linkBy('requestPasswordReset');
      const code = await phone.codeBy('requestPasswordResetBySmsCode');
      await phone.api().put(`/1.1/resetPasswordBySmsCode/${code}`, { password: NEW_PASSWORD });
      await dead(token);
      expect((await mailed.logIn(NEW_PASSWORD)).status).toBe(200);
    });

    it('becomes invalid at a change of the address, and stays so when the address is restored', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      await client.change(user, { email: new EmailClient(server()).address });
      await dead(token);
      await client.change(user, { email: client.address });
      await dead(token);
      expect((await client.logIn(user.password)).status).toBe(200);
    });

    it('becomes invalid with the user', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      await client.api().delete(`/1.1/users/${user.id}`, { session: user.session });
      await dead(token);
      await client.signUp({ username: user.username });
      await dead(token);
    });

    it('stays valid after invalid passwords', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      for (const password of ['', undefined, null])
        expect(await refusal(client.reset(token, password))).toEqual([400, 201]);
      for (const password of [7, true, {}, { $ne: '' }, ['a'], { __op: 'Delete' }])
        expect(await refusal(client.reset(token, password)), JSON.stringify(password)).toEqual([400, 218]);
      expect((await client.logIn(user.password)).body['sessionToken']).toBe(user.session);
      expect((await client.reset(token, NEW_PASSWORD)).status).toBe(200);
    });

    it('works by a script of another origin', async () => {
      const { token } = await client.linkBy('requestPasswordReset');
      const password = 'pass & wörd=?#';
      expect(await client.jsonp(`resetPassword/${token}`)).toMatchObject({ code: 201 });
      expect(await client.jsonp(`resetPassword/${token}`, { password })).toEqual({});
      expect((await client.logIn(password)).status).toBe(200);
      expect(await client.jsonp(`resetPassword/${token}`, { password })).toEqual({ code: 1, error: LINK_EXPIRED[2] });
    });

    it('is not used by requests that only read it', async () => {
      const { link, token } = await client.linkBy('requestPasswordReset');
      const { pathname, search } = new URL(link);
      const api = `/1.1/resetPassword/${token}?password=taken`;
      for (const path of [`${pathname}${search}`, `${pathname}${search}&password=taken`, api])
        await Promise.all([client.page().get(path), client.head(path)]);
      await client.head(`${api}&callback=done`);
      await client.page().get(`${api}&callback=${encodeURIComponent('alert(1)')}`);
      expect((await client.logIn(user.password)).body['sessionToken']).toBe(user.session);
      expect((await client.reset(token, NEW_PASSWORD)).status).toBe(200);
    });

    it('proves a pending address, and ends all other login methods of the account', async () => {
      const owner = new EmailClient(server(), apps().verifying);
      const authData = { github: { uid: unique('uid') } };
      const { user: squatter } = await owner.signUpForLink({ mobilePhoneNumber: uniquePhone() });
      await owner.change(squatter, { authData });
      const { token } = await owner.linkBy('requestPasswordReset');
      await owner.reset(token, NEW_PASSWORD);
      const { body } = await owner.logIn(NEW_PASSWORD);
      expect([body['objectId'], body['emailVerified']]).toEqual([squatter.id, true]);
      expect([body['authData'], body['mobilePhoneNumber']]).toEqual([undefined, undefined]);
      expect((await owner.api().post('/1.1/users?failOnNotExist=true', { authData })).body['code']).toBe(211);
      expect((await owner.me(squatter.session))['code']).toBe(211);
    });

    it('keeps the platform links of an account that was never asked for a proof', async () => {
      const authData = { github: { uid: unique('uid') } };
      await client.change(user, { authData });
      const { token } = await client.linkBy('requestPasswordReset');
      await client.reset(token, NEW_PASSWORD);
      const { body } = await client.logIn(NEW_PASSWORD);
      expect([body['emailVerified'], body['authData']]).toEqual([null, authData]);
    });
  });
}
