import { beforeEach, describe, expect, it } from 'vitest';
import { type GatepostServer, unique } from '#testing';
import { EmailClient, LINK_EXPIRED, type MailingApps, outcomeOf } from './email-client.js';
import { refusal } from './refusal.js';

/** Specification, emailVerified: what the mailed link does. */
export function describeEmailVerification(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('the link that verifies an address', () => {
    let client: EmailClient;
    const someone = () => new EmailClient(server(), apps().verifying);
    const verified = async (user: { session: string }) => (await client.me(user.session))['emailVerified'];

    beforeEach(() => {
      client = someone();
    });

    it('is mailed once after a sign-up with an address', async () => {
      const { user, link } = await client.signUpForLink();
      expect(user.body['emailVerified']).toBe(false);
      expect(link.link).toMatch(/^http:\/\/localhost:\d+\/pages\/verify-email\?token=\w+$/);
      const [mail, ...others] = await client.mailsOnceSettled();
      expect(others).toEqual([]);
      expect([mail?.to, mail?.from]).toEqual([[client.address], expect.stringContaining('@')]);
      expect(mail?.html).toContain(link.token);
      expect(mail?.raw).not.toContain(user.session);
    });

    it('is not mailed without an address, or if the setting is off', async () => {
      const user = await client.signUp({ email: undefined });
      expect(user.body['emailVerified']).toBeNull();
      const other = new EmailClient(server());
      expect((await other.signUp()).body['emailVerified']).toBeNull();
      expect(await other.mailsOnceSettled()).toEqual([]);
      const migrated = new EmailClient(server());
      const account = { username: unique('user'), password: 'p', email: migrated.address, emailVerified: false };
      const { body } = await migrated.master().post('/1.1/users', account);
      expect((await migrated.me(String(body['sessionToken'])))['emailVerified']).toBe(false);
      expect(await migrated.mailsOnceSettled()).toEqual([]);
    });

    it('verifies by POST, and says so a second time too', async () => {
      const { user, link } = await client.signUpForLink();
      const first = await client.verify(link.token);
      expect([first.status, first.body]).toEqual([200, {}]);
      const me = await client.me(user.session);
      expect([me['emailVerified'], me['sessionToken']]).toEqual([true, user.session]);
      const second = await client.verify(link.token, 1);
      expect([second.status, second.body]).toEqual([200, {}]);
      expect(await client.me(user.session)).toEqual(me);
    });

    it('verifies by a script of another origin', async () => {
      const { user, link } = await client.signUpForLink();
      expect(await client.jsonp(`verifyEmail/${link.token}`)).toEqual({});
      expect(await verified(user)).toBe(true);
      expect(await client.jsonp(`verifyEmail/${link.token}`)).toEqual({});
      expect(await client.jsonp('verifyEmail/abc')).toEqual({ code: 1, error: LINK_EXPIRED[2] });
    });

    it('is not used by requests that only read it, as mail scanners send them', async () => {
      const { user, link } = await client.signUpForLink();
      const { pathname, search } = new URL(link.link);
      for (const path of [`${pathname}${search}`, `/1.1/verifyEmail/${link.token}`])
        await Promise.all([client.page().get(path), client.head(path)]);
      await client.head(`/1.1/verifyEmail/${link.token}?callback=done`);
      for (const callback of ['', 'alert(1)', 'a b', '<script>'])
        await client.page().get(`/1.1/verifyEmail/${link.token}?callback=${encodeURIComponent(callback)}`);
      expect(await verified(user)).toBe(false);
      expect((await client.verify(link.token)).status).toBe(200);
      expect(await verified(user)).toBe(true);
    });

    it('becomes invalid at a change of the address, and the new address gets its own', async () => {
      const { user, link: old } = await client.signUpForLink();
      const changed = someone();
      const link = await changed.linkOf(() => client.change(user, { email: changed.address }));
      expect(await outcomeOf(client.verify(old.token))).toEqual(LINK_EXPIRED);
      expect(await verified(user)).toBe(false);
      await client.verify(link.token);
      expect(await verified(user)).toBe(true);
      expect(await outcomeOf(client.verify(old.token))).toEqual(LINK_EXPIRED);
    });

    it('stays invalid when the address is restored', async () => {
      const { user, link: old } = await client.signUpForLink();
      await client.change(user, { email: someone().address });
      const link = await client.linkOf(() => client.change(user, { email: client.address }));
      expect(await outcomeOf(client.verify(old.token))).toEqual(LINK_EXPIRED);
      expect(await verified(user)).toBe(false);
      expect((await client.verify(link.token)).status).toBe(200);
    });

    it('becomes invalid if the address is removed, and no mail is sent', async () => {
      const { user, link } = await client.signUpForLink();
      await client.change(user, { email: { __op: 'Delete' } });
      expect(await outcomeOf(client.verify(link.token))).toEqual(LINK_EXPIRED);
      expect(await verified(user)).toBeNull();
      expect(await client.mailsOnceSettled()).toHaveLength(1);
    });

    it('outlives changes that leave the address as it is', async () => {
      const { user, link } = await client.signUpForLink();
      await client.change(user, { email: client.address, color: 'green' });
      await client.change(user, { password: 'another one' });
      expect((await client.verify(link.token)).status).toBe(200);
      expect(await client.mailsOnceSettled()).toHaveLength(1);
    });

    it('becomes invalid with the user, also for a later user of that name and address', async () => {
      const { user, link } = await client.signUpForLink();
      await client.api().delete(`/1.1/users/${user.id}`, { session: user.session });
      expect(await outcomeOf(client.verify(link.token))).toEqual(LINK_EXPIRED);
      const next = await client.signUp({ username: user.username });
      expect(await outcomeOf(client.verify(link.token))).toEqual(LINK_EXPIRED);
      expect(await verified(next)).toBe(false);
    });

    it('is good in its own application alone', async () => {
      const other = new EmailClient(server(), apps().own, client.address);
      const [mine, theirs] = [await client.signUpForLink(), await other.signUpForLink()];
      await other.verify(mine.link.token);
      expect(await verified(mine.user)).toBe(true);
      expect((await other.me(theirs.user.session))['emailVerified']).toBe(false);
    });

    it('is good for nothing else, and nothing else is good for it', async () => {
      const { user, link } = await client.signUpForLink();
      const reset = await client.linkBy('requestPasswordReset');
      expect(await outcomeOf(client.reset(link.token, 'mine now'))).toEqual(LINK_EXPIRED);
      expect(await outcomeOf(client.verify(reset.token))).toEqual(LINK_EXPIRED);
      expect(await verified(user)).toBe(false);
      expect((await client.logIn(user.password)).status).toBe(200);
    });

    it('cannot be made up', async () => {
      const { user, link } = await client.signUpForLink();
      const { token } = link;
      const changedAt = (index: number) =>
        `${token.slice(0, index)}${token[index] === 'a' ? 'b' : 'a'}${token.slice(index + 1)}`;
      const wrong = [
        ...[0, 20, 31, 40, Math.floor(token.length / 2), token.length - 1].map(changedAt),
        token.slice(1),
        token.slice(0, -2),
        `${token}00`,
        'x',
        '0'.repeat(token.length),
        encodeURIComponent('ü\0'),
        user.session,
      ];
      for (const each of wrong) expect(await outcomeOf(client.verify(each)), each).toEqual(LINK_EXPIRED);
      expect(await verified(user)).toBe(false);
    });

    it('opens the login where forbidUnverifiedEmailLogin closes it', async () => {
      const late = new EmailClient(server(), apps().quiet);
      const { user, link } = await late.signUpForLink();
      expect(await refusal(late.logIn(user.password))).toEqual([400, 216]);
      await late.verify(link.token);
      expect((await late.logIn(user.password)).body['emailVerified']).toBe(true);
    });
  });
}
