import { beforeEach, describe, expect, it } from 'vitest';
import { createApplication, type GatepostServer } from '#testing';
import { changeSettings, EmailClient, type MailingApps } from './email-client.js';
import { refusal } from './refusal.js';

/** Mails that are asked for. */
export function describeEmailRequests(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('POST /1.1/requestEmailVerify', () => {
    let client: EmailClient;

    beforeEach(() => {
      client = new EmailClient(server(), apps().verifying);
    });

    it('mails another link; the first one is good as well', async () => {
      const { user, link: first } = await client.signUpForLink();
      const { status, body } = await client.post('requestEmailVerify');
      expect([status, body, (await client.me(user.session))['emailVerified']]).toEqual([200, {}, false]);
      const second = await client.linkBy('requestEmailVerify');
      expect(second.token).not.toBe(first.token);
      for (const { token } of [first, second]) expect((await client.verify(token)).status).toBe(200);
      expect((await client.me(user.session))['emailVerified']).toBe(true);
    });

    it('mails nothing where the address is verified', async () => {
      const { link } = await client.signUpForLink();
      await client.verify(link.token);
      expect((await client.post('requestEmailVerify')).body).toEqual({});
      expect(await client.mailsOnceSettled()).toHaveLength(1);
    });

    it('says what is wrong', async () => {
      expect(await refusal(client.post('requestEmailVerify'))).toEqual([400, 205]);
      expect(await refusal(client.post('requestEmailVerify', { email: undefined }))).toEqual([400, 204]);
      for (const email of [7, {}, ['a@example.com'], true])
        expect((await refusal(client.post('requestEmailVerify', { email })))[0]).toBe(400);
    });

    it('is mailed to a user from before the setting was on; an error names the setting while it is off', async () => {
      const late = new EmailClient(server(), await createApplication(server()));
      const user = await late.signUp();
      const off = await late.post('requestEmailVerify');
      expect([off.status, off.body['code'], off.body['error']]).toEqual([
        400,
        1,
        expect.stringContaining('verifyEmailOnSignUp'),
      ]);
      expect((await late.me(user.session))['emailVerified']).toBeNull();
      await changeSettings(server(), late.keys, { verifyEmailOnSignUp: 'true' });
      const { token } = await late.linkBy('requestEmailVerify');
      expect((await late.me(user.session))['emailVerified']).toBe(false);
      await late.verify(token);
      expect((await late.me(user.session))['emailVerified']).toBe(true);
    });
  });

  describe('requests for mails with quietProfile', () => {
    it.each(['requestEmailVerify', 'requestPasswordReset'] as const)('%s is answered alike', async (path) => {
      const [unregistered, unverified, verified] = [0, 1, 2].map(() => new EmailClient(server(), apps().quiet)) as [
        EmailClient,
        EmailClient,
        EmailClient,
      ];
      await unverified.signUpForLink();
      await verified.verify((await verified.signUpForLink()).link.token);
      for (const client of [unregistered, unverified, verified]) {
        const { status, body } = await client.post(path);
        expect([status, body]).toEqual([200, {}]);
      }
      expect(await unregistered.mailsOnceSettled()).toEqual([]);
      expect(await unverified.mails()).toHaveLength(2);
      expect(await verified.mails()).toHaveLength(path === 'requestEmailVerify' ? 1 : 2);
    });
  });
}
