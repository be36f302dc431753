import { describe, expect, it } from 'vitest';
import type { GatepostServer } from '#testing';
import { EmailClient, type MailingApps, uniqueEmail } from './email-client.js';

/** How many mails a mailbox may get. */
export function describeEmailBounds(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('the bounds of mails to a mailbox', () => {
    const TOO_MANY = [400, 1];
    const spellings = (address: string) => {
      const [name = '', domain = ''] = address.split('@');
      return [address, `${name.toUpperCase()}@${domain}`, ...[1, 2, 3, 4].map((tag) => `${name}+${tag}@${domain}`)];
    };

    it('are five in ten minutes, however it is spelt; a sign-up goes on without', async () => {
      const clients = spellings(uniqueEmail()).map((address) => new EmailClient(server(), apps().verifying, address));
      for (const client of clients.slice(0, 5)) await client.signUpForLink();
      const late = clients.at(-1)!;
      expect((await late.signUp()).body['emailVerified']).toBe(false);
      for (const client of clients)
        for (const path of ['requestEmailVerify', 'requestPasswordReset']) {
          const { status, headers, body } = await client.post(path);
          expect([status, body['code']]).toEqual(TOO_MANY);
          expect(body['error']).toContain('Too many emails');
          expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        }
      expect(await late.mailsOnceSettled()).toEqual([]);
      const elsewhere = new EmailClient(server(), undefined, late.address);
      await elsewhere.signUp();
      expect((await elsewhere.linkBy('requestPasswordReset')).token).toMatch(/\w/);
    });

    it('do not reveal which users exist with quietProfile', async () => {
      for (const path of ['requestPasswordReset', 'requestEmailVerify']) {
        const clients = [0, 1, 2].map(() => new EmailClient(server(), apps().quiet));
        const [, verified, late] = clients as [EmailClient, EmailClient, EmailClient];
        const { id } = await verified.signUp({ email: undefined });
        await verified.master().put(`/1.1/users/${id}`, { email: verified.address, emailVerified: true });
        // A user that has just signed up has already got a mail.
        await late.signUpForLink();
        for (const client of clients)
          for (let round = 0; round < 7; round += 1) {
            const { status, body } = await client.post(path);
            expect([status, body]).toEqual([200, {}]);
          }
        expect(await late.mailsOnceSettled()).toHaveLength(5);
      }
    });

    it('are not used up by requests for unknown addresses, with quietProfile', async () => {
      const owner = new EmailClient(server(), apps().quiet);
      await owner.signUp();
      for (const address of spellings(owner.address).slice(1))
        await new EmailClient(server(), apps().quiet, address).post('requestPasswordReset');
      expect((await owner.linkBy('requestPasswordReset')).token).toMatch(/\w/);
    });
  });
}
