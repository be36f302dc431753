import { beforeAll, describe, expect } from 'vitest';
import { type AppKeys, createApplication, eventually, type GatepostServer } from '#testing';
import { changeSettings, EmailClient, uniqueEmail } from '../journeys/suites/email-client.js';
import { outcomesOf, racesOn, repeated, type Round, times, tokensOf } from './race.js';

const MANY = 20;
const LINK_EXPIRED = 1;
const NO_SESSION = 206;
const MOST_MAILS = 5;
const PAGE_GONE = 410;
const FORM = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };

const expectAddress = (round: Round, id: string, email: string, isVerified: boolean | null) =>
  round.expectStored(
    [{ email, email_verified: isVerified }],
    'SELECT email, email_verified FROM accounts.users WHERE app_id = $1 AND object_id = $2',
    id,
  );

/** Threats, class 7: a mailed link is good once, and for the address that it was sent to. */
export function describeMailedLinkRaces(server: () => GatepostServer): void {
  describe('a mailed link, at once from many', () => {
    let app: AppKeys;
    const race = racesOn(() => ({ ...server(), app }));
    const newClient = () => new EmailClient(server(), app);

    beforeAll(async () => {
      app = await createApplication(server());
      await changeSettings(server(), app, { verifyEmailOnSignUp: 'true' });
    });

    race('sets a password once, by the API and by the page', async (round) => {
      const client = newClient();
      const { user } = await client.signUpForLink();
      const { token } = await client.linkBy('requestPasswordReset');
      const { byApi, byPage } = await round.cross({
        byApi: times(MANY / 2, (_, index) => client.reset(token, `password ${index}`, index)),
        byPage: times(MANY / 2, (_, index) => {
          const form = `token=${token}&password=the+page+${index}&repeat=the+page+${index}`;
          return client.page(index).post('/pages/reset-password', form, FORM);
        }),
      });
      const all = [...byApi, ...byPage];
      expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(outcomesOf(all).filter((each) => ![200, LINK_EXPIRED, PAGE_GONE].includes(Number(each)))).toEqual([]);
      const winner = all.findIndex(({ status }) => status === 200);
      const login = await client.logIn(winner < MANY / 2 ? `password ${winner}` : `the page ${winner - MANY / 2}`);
      expect(login.body['objectId']).toBe(user.id);
      expect(await round.goodOf([user.session, ...tokensOf(login)])).toEqual(tokensOf(login));
      await round.expectStored(
        [{ password_version: 1 }],
        'SELECT password_version FROM accounts.users WHERE app_id = $1 AND object_id = $2',
        user.id,
      );
    });

    race('that resets a password, and a change of the address: one of them is done', async (round) => {
      const client = newClient();
      const { user } = await client.signUpForLink();
      const { token } = await client.linkBy('requestPasswordReset');
      const email = uniqueEmail();
      const { resets, changes } = await round.cross({
        resets: times(1, () => client.reset(token, 'new', 1)),
        changes: times(1, () => client.change(user, { email })),
      });
      expect([
        [200, NO_SESSION],
        [LINK_EXPIRED, 200],
      ]).toContainEqual([...outcomesOf(resets), ...outcomesOf(changes)]);
      await expectAddress(
        round,
        user.id,
        resets[0]?.status === 200 ? client.address : email,
        resets[0]?.status === 200,
      );
    });

    race('verifies its address, and is as good for who asks again', async (round) => {
      const client = newClient();
      const { user, link } = await client.signUpForLink();
      const replies = await round.atOnce(MANY, (_, index) => client.verify(link.token, index));
      expect(outcomesOf(replies)).toEqual(repeated(MANY, 200));
      await expectAddress(round, user.id, client.address, true);
    });

    race('verifies no other address that is set meanwhile', async (round) => {
      const client = newClient();
      const { user, link } = await client.signUpForLink();
      const email = uniqueEmail();
      const { proofs, changes } = await round.cross({
        proofs: times(3, (_, index) => client.verify(link.token, index)),
        changes: times(1, () => client.change(user, { email })),
      });
      expect(outcomesOf(changes)).toEqual([200]);
      expect(outcomesOf(proofs).filter((outcome) => outcome !== 200 && outcome !== LINK_EXPIRED)).toEqual([]);
      expect(outcomesOf([await client.verify(link.token)])).toEqual([LINK_EXPIRED]);
      expect(await client.me(user.session)).toMatchObject({ email, emailVerified: false });
      await expectAddress(round, user.id, email, false);
    });

    race('is sent five times at most', async (round) => {
      const client = newClient();
      await client.signUpForLink();
      const paths = ['requestEmailVerify', 'requestPasswordReset'];
      const replies = await round.atOnce(MANY, (api, index) =>
        api.post(`/1.1/${paths[index % 2] ?? ''}`, { email: client.address }),
      );
      // One was sent at the sign-up.
      expect(outcomesOf(replies)).toEqual([...repeated(MANY - MOST_MAILS + 1, 1), ...repeated(MOST_MAILS - 1, 200)]);
      await eventually(async () => {
        expect(await client.mails()).toHaveLength(MOST_MAILS);
      });
      await round.expectStored(
        [{ mails: MOST_MAILS }],
        'SELECT count(*)::int AS mails FROM mail.deliveries WHERE app_id = $1 AND recipient = $2',
        client.address,
      );
    });
  });
}
