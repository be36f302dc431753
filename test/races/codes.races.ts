import { describe, expect } from 'vitest';
import { eventually, type GatepostServer, signUp, type TestUser, unique, uniquePhone } from '#testing';
import { PhoneClient, wrong } from '../journeys/suites/phone-client.js';
import { outcomesOf, racesOn, repeated, type Round, times, tokensOf } from './race.js';

const MANY = 20;
/** Wrong codes at logins count for the lockout. */
const FEW = 5;
const MOST_GUESSES = 5;
const USED_UP = 603;
const NUMBER_TAKEN = 214;

const once = (count: number) => [200, ...repeated(count - 1, USED_UP)];
const numbered = ({ number: mobilePhoneNumber }: PhoneClient) => ({ mobilePhoneNumber });

const expectStoredNumber = (round: Round, { id }: Pick<TestUser, 'id'>, number: string, isVerified: boolean) =>
  round.expectStored(
    [{ mobile_phone_number: number, mobile_phone_verified: isVerified }],
    'SELECT mobile_phone_number, mobile_phone_verified FROM accounts.users WHERE app_id = $1 AND object_id = $2',
    id,
  );
const expectNoCode = (round: Round, phone: PhoneClient) =>
  round.expectStored(
    [{ codes: 0 }],
    'SELECT count(*)::int AS codes FROM accounts.sms_codes WHERE app_id = $1 AND mobile_phone_number = $2',
    phone.number,
  );

/** Threats, class 7: a code is good once, and for the number that it was sent to. */
export function describeCodeRaces(server: () => GatepostServer): void {
  describe('a code of a text message, at once from many', () => {
    const race = racesOn(server);

    race('is sent once', async (round) => {
      const phone = new PhoneClient(round.server);
      const replies = await round.atOnce(MANY, (api) => api.post('/1.1/requestSmsCode', numbered(phone)));
      expect(outcomesOf(replies)).toEqual([...repeated(MANY - 1, 1), 200]);
      await eventually(() => {
        expect(phone.messages()).toHaveLength(1);
      });
      await round.expectStored(
        [{ messages: 1 }],
        'SELECT cardinality(sent_at) AS messages FROM accounts.sms_allowances WHERE app_id = $1 AND mobile_phone_number = $2',
        phone.number,
      );
    });

    race('is right once', async (round) => {
      const phone = new PhoneClient(round.server);
      const code = await phone.codeBy('requestSmsCode');
      const replies = await round.atOnce(MANY, (api) => api.post(`/1.1/verifySmsCode/${code}`, numbered(phone)));
      expect(outcomesOf(replies)).toEqual(once(MANY));
      await expectNoCode(round, phone);
    });

    race('ends with the fifth wrong guess', async (round) => {
      const phone = new PhoneClient(round.server);
      const code = await phone.codeBy('requestSmsCode');
      const guess = wrong(code);
      const replies = await round.atOnce(MANY, (api) => api.post(`/1.1/verifySmsCode/${guess}`, numbered(phone)));
      expect(outcomesOf(replies)).toEqual(repeated(MANY, USED_UP));
      expect(outcomesOf([await phone.post(`verifySmsCode/${code}`)])).toEqual([USED_UP]);
      await round.expectStored(
        [{ wrong_guesses: MOST_GUESSES }],
        'SELECT wrong_guesses FROM accounts.sms_codes WHERE app_id = $1 AND mobile_phone_number = $2',
        phone.number,
      );
    });

    race('logs in once', async (round) => {
      const phone = new PhoneClient(round.server);
      const user = await phone.signUpProven();
      const smsCode = await phone.codeBy('requestLoginSmsCode');
      const replies = await round.atOnce(FEW, (api) => api.post('/1.1/login', { ...numbered(phone), smsCode }));
      expect(outcomesOf(replies)).toEqual(once(FEW));
      expect(tokensOf(...replies)).toEqual([user.session]);
      await expectNoCode(round, phone);
    });

    race('makes one user', async (round) => {
      const phone = new PhoneClient(round.server);
      const smsCode = await phone.codeBy('requestSmsCode');
      const replies = await round.atOnce(FEW, (api) =>
        api.post('/1.1/usersByMobilePhone', { ...numbered(phone), smsCode, password: 'p' }),
      );
      expect(outcomesOf(replies)).toEqual([201, ...repeated(FEW - 1, USED_UP)]);
      await round.expectStored(
        [{ object_id: replies.find(({ status }) => status === 201)?.body['objectId'] }],
        'SELECT object_id FROM accounts.users WHERE app_id = $1 AND mobile_phone_number = $2',
        phone.number,
      );
    });

    race('resets a password once', async (round) => {
      const phone = new PhoneClient(round.server);
      const user = await phone.signUpProven();
      const code = await phone.codeBy('requestPasswordResetBySmsCode');
      const replies = await round.atOnce(MANY, (api, index) =>
        api.put(`/1.1/resetPasswordBySmsCode/${code}`, { ...numbered(phone), password: `new ${index}` }),
      );
      expect(outcomesOf(replies)).toEqual(once(MANY));
      const winner = replies.findIndex(({ status }) => status === 200);
      const login = await phone.post('login', { password: `new ${winner}` });
      expect(login.body['objectId']).toBe(user.id);
      expect(await round.goodOf([user.session, ...tokensOf(login)])).toEqual(tokensOf(login));
      await expectNoCode(round, phone);
    });

    race('verifies a number once', async (round) => {
      const phone = new PhoneClient(round.server);
      const { session, ...user } = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      const replies = await round.atOnce(FEW, (api) =>
        api.post(`/1.1/verifyMobilePhone/${code}`, numbered(phone), { session }),
      );
      expect(outcomesOf(replies)).toEqual(once(FEW));
      await expectStoredNumber(round, user, phone.number, true);
    });

    race('verifies no other number that is set meanwhile', async (round) => {
      const phone = new PhoneClient(round.server);
      const { session, ...user } = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      const next = uniquePhone();
      const { changes } = await round.cross({
        proofs: times(3, (api) => api.post(`/1.1/verifyMobilePhone/${code}`, numbered(phone), { session })),
        changes: times(1, (api) => api.put(`/1.1/users/${user.id}`, { mobilePhoneNumber: next }, { session })),
      });
      expect(outcomesOf(changes)).toEqual([200]);
      expect(await phone.me(session)).toMatchObject({ mobilePhoneNumber: next, mobilePhoneVerified: false });
      await expectStoredNumber(round, user, next, false);
    });

    race('verifies a number without a session, while the user logs in as before', async (round) => {
      const phone = new PhoneClient(round.server);
      const { session, username, password, ...user } = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      const { proofs, logins } = await round.cross({
        proofs: times(FEW, (api) => api.post(`/1.1/verifyMobilePhone/${code}`, numbered(phone))),
        logins: times(FEW, (api) => api.post('/1.1/login', { username, password })),
      });
      expect(outcomesOf(proofs)).toEqual(once(FEW));
      expect(tokensOf(...logins)).toEqual(repeated(FEW, session));
      await expectStoredNumber(round, user, phone.number, true);
    });

    race('gives a number to one user, even if others sign up with it', async (round) => {
      const phone = new PhoneClient(round.server);
      const { session } = await signUp(phone.api());
      const code = await phone.codeBy('requestChangePhoneNumber', {}, session);
      const { changes, signUps } = await round.cross({
        changes: times(3, (api) => api.post('/1.1/changePhoneNumber', { ...numbered(phone), code }, { session })),
        signUps: times(3, (api) =>
          api.post('/1.1/users', { ...numbered(phone), username: unique('racer'), password: 'p' }),
        ),
      });
      expect([...changes, ...signUps].filter(({ status }) => status < 400)).toHaveLength(1);
      expect(outcomesOf(changes).filter((each) => ![200, USED_UP, NUMBER_TAKEN].includes(Number(each)))).toEqual([]);
      await round.expectStored(
        [{ users: 1 }],
        'SELECT count(*)::int AS users FROM accounts.users WHERE app_id = $1 AND mobile_phone_number = $2',
        phone.number,
      );
    });
  });
}
