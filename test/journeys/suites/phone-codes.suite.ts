import { beforeEach, describe, expect, it } from 'vitest';
import { eventually, type GatepostServer, signUp, unique } from '#testing';
import { PhoneClient, wrong } from './phone-client.js';
import { refusal } from './refusal.js';

const TOO_FAST = { code: 1, error: 'SMS request too fast(1 request per 10s).' };
const countOf = (replies: { status: number }[], status: number) =>
  replies.filter((reply) => reply.status === status).length;

/** Codes, and getting in by them. */
export function describePhoneCodes(server: () => GatepostServer): void {
  let phone: PhoneClient;
  beforeEach(() => {
    phone = new PhoneClient(server());
  });

  describe('POST /1.1/requestSmsCode and /1.1/verifySmsCode/<code>', () => {
    it('send a code that is right once', async () => {
      const code = await phone.codeBy('requestSmsCode');
      expect(code).toMatch(/^\d{6}$/);
      expect(await refusal(phone.post(`verifySmsCode/${wrong(code)}`))).toEqual([400, 603]);
      const { status, body } = await phone.post(`verifySmsCode/${code}`);
      expect([status, body]).toEqual([200, {}]);
      expect(await refusal(phone.post(`verifySmsCode/${code}`))).toEqual([400, 603]);
    });

    it('know a number with and without its prefix', async () => {
      const national = { mobilePhoneNumber: phone.number.slice(3) };
      const code = await phone.codeBy('requestSmsCode', national);
      expect((await phone.post(`verifySmsCode/${code}`, national)).status).toBe(200);
    });

    it('say in the message what the request says', async () => {
      const code = await phone.codeBy('requestSmsCode', {
        name: 'The Shop',
        op: 'a payment',
        ttl: 5,
        smsType: 'voice',
        template: 'pay',
        sign: 'us',
        order: 7,
        validate_token: 'ignored',
      });
      expect(phone.messages()).toEqual([
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          appId: server().app.id,
          to: phone.number,
          text: `[The Shop] ${code} is your verification code for a payment. It is valid for 5 minutes.`,
          code,
          smsType: 'voice',
          template: 'pay',
          sign: 'us',
          variables: { order: '7' },
        },
      ]);
    });

    it('say the name of the application, and ten minutes, where the request says nothing', async () => {
      const code = await phone.codeBy('requestSmsCode');
      const [{ text } = { text: '' }] = phone.messages();
      expect(text).toMatch(
        new RegExp(`^\\[[^\\]]+\\] ${code} is your verification code\\. It is valid for 10 minutes\\.$`),
      );
    });

    it('send one message in ten seconds, also where 20 ask at once', async () => {
      const replies = await phone.postAtOnce(20, 'requestSmsCode');
      expect([countOf(replies, 200), countOf(replies, 400)]).toEqual([1, 19]);
      const refused = replies.find(({ status }) => status === 400);
      expect([refused?.body, refused?.headers.get('retry-after')]).toEqual([
        TOO_FAST,
        expect.stringMatching(/^(?:[1-9]|10)$/),
      ]);
      await eventually(() => {
        expect(phone.messages()).toHaveLength(1);
      });
      const user = await phone.signUpProven();
      expect((await phone.post('requestPasswordResetBySmsCode')).body).toEqual(TOO_FAST);
      expect((await phone.post('requestChangePhoneNumber', {}, user.session)).body).toEqual(TOO_FAST);
    });

    it('end a code after five wrong guesses', async () => {
      const code = await phone.codeBy('requestSmsCode');
      for (let guess = 0; guess < 5; guess += 1)
        expect(await refusal(phone.post(`verifySmsCode/${wrong(code)}`))).toEqual([400, 603]);
      expect(await refusal(phone.post(`verifySmsCode/${code}`))).toEqual([400, 603]);
    });

    it('mean the number of the session where none is given', async () => {
      const user = await phone.signUp();
      const code = await phone.codeBy('requestSmsCode');
      expect(await refusal(phone.api().post(`/1.1/verifySmsCode/${code}`))).toEqual([400, 212]);
      expect((await phone.api().post(`/1.1/verifySmsCode/${code}`, {}, { session: user.session })).body).toEqual({});
    });
  });

  describe('POST /1.1/usersByMobilePhone', () => {
    it('signs up a new user: the answer is the whole user, with a proven number, which is the default username', async () => {
      const smsCode = await phone.codeBy('requestSmsCode');
      const { status, headers, body } = await phone.post('usersByMobilePhone', { smsCode, color: 'red' });
      expect([status, headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`^http.*/1\\.1/users/${String(body['objectId'])}$`)),
      ]);
      expect(body).toEqual({
        objectId: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
        username: phone.number,
        mobilePhoneNumber: phone.number,
        mobilePhoneVerified: true,
        emailVerified: null,
        sessionToken: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        color: 'red',
        createdAt: body['createdAt'],
        updatedAt: body['createdAt'],
      });
      expect(await phone.me(String(body['sessionToken']))).toEqual(body);
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode }))).toEqual([400, 603]);
    });

    it('takes a username and a password where they are given', async () => {
      const account = { username: unique('phone'), password: 'correct horse' };
      const smsCode = await phone.codeBy('requestSmsCode');
      const { status, body } = await phone.post('usersByMobilePhone', { smsCode, ...account });
      expect([status, body['username']]).toEqual([201, account.username]);
      expect((await phone.api().post('/1.1/login', account)).body).toEqual(body);
    });

    it('logs in an existing user: the same user and token, and nothing changed', async () => {
      const user = await phone.signUpProven({ color: 'red' });
      const before = await phone.me(user.session);
      const smsCode = await phone.codeBy('requestSmsCode');
      const { status, headers, body } = await phone.post('usersByMobilePhone', {
        smsCode,
        color: 'blue',
        password: 'p',
      });
      expect([status, body]).toEqual([200, before]);
      expect(headers.get('location')).toMatch(new RegExp(`^http.*/1\\.1/users/${user.id}$`));
      expect((await phone.post('login', { password: user.password })).status).toBe(200);
    });

    it('leaves the code good where the sign-up is refused', async () => {
      const other = await signUp(phone.api());
      const smsCode = await phone.codeBy('requestSmsCode');
      const enter = (fields: Record<string, unknown>) => phone.post('usersByMobilePhone', { smsCode, ...fields });
      expect(await refusal(enter({ username: other.username }))).toEqual([400, 202]);
      expect(await refusal(enter({ sessionToken: 'mine' }))).toEqual([400, 117]);
      expect(await refusal(enter({ mobilePhoneVerified: true }))).toEqual([400, 117]);
      expect(await refusal(enter({ password: 7 }))).toEqual([400, 218]);
      expect((await enter({})).status).toBe(201);
    });

    it('lets the owner of a number in if another user has it as a username', async () => {
      const other = await signUp(phone.api(), { username: phone.number });
      const smsCode = await phone.codeBy('requestSmsCode');
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode, username: phone.number }))).toEqual([400, 202]);
      const { status, body } = await phone.post('usersByMobilePhone', { smsCode });
      expect([status, body['username']]).toEqual([201, expect.stringMatching(/^[0-9a-z]{25}$/)]);
      expect(body['objectId']).not.toBe(other.id);
    });

    it('joins no user to an account on which the number is unproven', async () => {
      const squatter = await phone.signUp();
      const smsCode = await phone.codeBy('requestSmsCode');
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode: wrong(smsCode) }))).toEqual([400, 603]);
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode }))).toEqual([400, 215]);
      expect((await phone.me(squatter.session))['mobilePhoneVerified']).toBe(false);
    });
  });

  describe('POST /1.1/requestLoginSmsCode and /1.1/login with smsCode', () => {
    it('log in once: the same user and token', async () => {
      const user = await phone.signUpProven();
      const smsCode = await phone.codeBy('requestLoginSmsCode');
      expect(phone.messages()[0]?.text).toContain('is your login code');
      expect(await refusal(phone.post('login', { smsCode: wrong(smsCode) }))).toEqual([400, 603]);
      const { status, body } = await phone.post('login', { smsCode, password: '' });
      expect([status, body]).toEqual([200, await phone.me(user.session)]);
      expect(await refusal(phone.post('login', { smsCode }))).toEqual([400, 603]);
    });

    it('leave a login with a password as it is, though it brings a code', async () => {
      const user = await phone.signUp();
      const login = { password: user.password, smsCode: '123456' };
      expect((await phone.post('login', login)).body['objectId']).toBe(user.id);
      expect(await refusal(phone.post('login', { ...login, password: 'wrong' }))).toEqual([400, 210]);
    });

    it('refuse an unknown number, and an unverified one', async () => {
      expect(await refusal(phone.post('requestLoginSmsCode'))).toEqual([400, 213]);
      expect(await refusal(phone.post('login', { smsCode: '123456' }))).toEqual([400, 213]);
      await phone.signUp();
      expect(await refusal(phone.post('requestLoginSmsCode'))).toEqual([400, 215]);
      expect(await refusal(phone.post('login', { smsCode: '123456' }))).toEqual([400, 603]);
      expect(phone.messages()).toEqual([]);
    });

    it('take a code for nothing but its purpose', async () => {
      const { session } = await phone.signUpProven();
      const code = await phone.codeBy('requestLoginSmsCode');
      expect(await refusal(phone.post(`verifySmsCode/${code}`))).toEqual([400, 603]);
      expect(await refusal(phone.post(`verifyMobilePhone/${code}`))).toEqual([400, 603]);
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode: code }))).toEqual([400, 603]);
      expect(await refusal(phone.post('changePhoneNumber', { code }, session))).toEqual([400, 603]);
      const reset = { mobilePhoneNumber: phone.number, password: 'mine' };
      expect(await refusal(phone.api().put(`/1.1/resetPasswordBySmsCode/${code}`, reset))).toEqual([400, 603]);
      expect((await phone.post('login', { smsCode: code })).status).toBe(200);
    });

    it('let in by the number alone, whatever it was changed to', async () => {
      const user = await phone.signUpProven();
      const smsCode = await phone.codeBy('requestLoginSmsCode');
      await phone.api().put(`/1.1/users/${user.id}`, { mobilePhoneNumber: null }, { session: user.session });
      const squatter = await phone.signUp();
      expect(await refusal(phone.post('login', { smsCode }))).toEqual([400, 215]);
      expect((await phone.me(squatter.session))['objectId']).toBe(squatter.id);
    });
  });
}
