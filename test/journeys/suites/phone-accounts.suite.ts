import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AppKeys,
  createApplication,
  eventually,
  type GatepostServer,
  setSetting,
  signUp,
  unique,
  uniquePhone,
} from '#testing';
import { PhoneClient, wrong } from './phone-client.js';
import { refusal } from './refusal.js';

/** The effects of codes on an account, and the settings for them. */
export function describePhoneAccounts(server: () => GatepostServer): void {
  let phone: PhoneClient;
  beforeEach(() => {
    phone = new PhoneClient(server());
  });

  describe('POST /1.1/requestMobilePhoneVerify and /1.1/verifyMobilePhone/<code>', () => {
    it('verify a number', async () => {
      const user = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      expect(phone.messages()[0]?.text).toContain('is your code to verify this phone number');
      expect(await refusal(phone.post(`verifyMobilePhone/${wrong(code)}`))).toEqual([400, 603]);
      const { status, body } = await phone
        .api()
        .post(`/1.1/verifyMobilePhone/${code}`, { mobilePhoneNumber: phone.number }, { session: user.session });
      const { mobilePhoneVerified, updatedAt } = await phone.me(user.session);
      expect([status, body, mobilePhoneVerified]).toEqual([200, { updatedAt, objectId: user.id }, true]);
      expect(updatedAt).not.toBe(user.body['updatedAt']);
      expect(await refusal(phone.post(`verifyMobilePhone/${code}`))).toEqual([400, 603]);
    });

    // The SDK for Java sends none, and goes on with the session of the sign-up.
    it.each(['POST', 'GET'])('need no session, and change nothing but the flag: %s', async (method) => {
      const user = await phone.signUp();
      const email = `${unique('ada')}@example.com`;
      await phone.api().put(`/1.1/users/${user.id}`, { email }, { session: user.session });
      const code = await phone.codeBy('requestMobilePhoneVerify');
      const path = `/1.1/verifyMobilePhone/${code}`;
      const { body } = await (method === 'POST'
        ? phone.post(path.replace('/1.1/', ''))
        : phone.api().get(`${path}?mobilePhoneNumber=${encodeURIComponent(phone.number)}`));
      expect(body['objectId']).toBe(user.id);
      expect(await phone.me(user.session)).toMatchObject({ email, mobilePhoneVerified: true });
      const { username, password } = user;
      expect((await phone.api().post('/1.1/login', { username, password })).body['sessionToken']).toBe(user.session);
    });

    it('send nothing if the number is verified, and refuse an unknown one', async () => {
      expect(await refusal(phone.post('requestMobilePhoneVerify'))).toEqual([400, 213]);
      await phone.signUpProven();
      expect((await phone.post('requestMobilePhoneVerify')).body).toEqual({});
      expect((await phone.post('requestMobilePhoneVerify')).body).toEqual({});
      expect(phone.messages()).toEqual([]);
    });

    it('mean the number of the session where none is given', async () => {
      const { session } = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify', { mobilePhoneNumber: null }, session);
      expect((await phone.api().post(`/1.1/verifyMobilePhone/${code}`, {}, { session })).status).toBe(200);
      expect((await phone.me(session))['mobilePhoneVerified']).toBe(true);
      expect(await refusal(phone.api().post('/1.1/requestMobilePhoneVerify'))).toEqual([400, 212]);
    });

    it('know the number by the code where neither says it', async () => {
      const user = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      expect((await phone.api().post(`/1.1/verifyMobilePhone/${code}`)).body['objectId']).toBe(user.id);
    });

    it('verify nothing if another user has the number by now', async () => {
      const user = await phone.signUp();
      const code = await phone.codeBy('requestMobilePhoneVerify');
      await phone.api().put(`/1.1/users/${user.id}`, { mobilePhoneNumber: null }, { session: user.session });
      expect(await refusal(phone.post(`verifyMobilePhone/${code}`))).toEqual([400, 213]);
      expect((await phone.me(user.session))['mobilePhoneVerified']).toBe(false);
    });
  });

  describe('POST /1.1/requestPasswordResetBySmsCode and PUT /1.1/resetPasswordBySmsCode/<code>', () => {
    const reset = (code: string, body: object) => phone.api().put(`/1.1/resetPasswordBySmsCode/${code}`, body);

    it('set a new password, end every session, and work once', async () => {
      const user = await phone.signUpProven();
      const code = await phone.codeBy('requestPasswordResetBySmsCode');
      expect(phone.messages()[0]?.text).toContain('is your code to reset your password');
      const body = { mobilePhoneNumber: phone.number, password: 'new password' };
      expect(await refusal(reset(wrong(code), body))).toEqual([400, 603]);
      expect((await reset(code, body)).body).toEqual({});
      expect((await phone.me(user.session))['code']).toBe(211);
      expect(await refusal(phone.post('login', { password: user.password }))).toEqual([400, 210]);
      const { status, body: login } = await phone.post('login', { password: 'new password' });
      expect([status, login['objectId']]).toEqual([200, user.id]);
      expect(login['sessionToken']).not.toBe(user.session);
      expect(await refusal(reset(code, { ...body, password: 'again' }))).toEqual([400, 603]);
    });

    it('know the number by the code where none is given, as SDKs do not', async () => {
      const user = await phone.signUpProven();
      const code = await phone.codeBy('requestPasswordResetBySmsCode');
      expect(
        (await phone.api().post(`/1.1/resetPasswordBySmsCode/${code}`, { password: 'new password' })).body,
      ).toEqual({});
      expect((await phone.post('login', { password: 'new password' })).body['objectId']).toBe(user.id);
    });

    it('refuse an unknown number, and an unverified one', async () => {
      expect(await refusal(phone.post('requestPasswordResetBySmsCode'))).toEqual([400, 213]);
      await phone.signUp();
      expect(await refusal(phone.post('requestPasswordResetBySmsCode'))).toEqual([400, 215]);
      expect(phone.messages()).toEqual([]);
    });

    it.each(['PUT', 'POST'])('end with the proof of the number: %s', async (method) => {
      const user = await phone.signUpProven();
      const code = await phone.codeBy('requestPasswordResetBySmsCode');
      await phone.api().put(`/1.1/users/${user.id}`, { mobilePhoneNumber: null }, { session: user.session });
      const body = { mobilePhoneNumber: phone.number, password: 'new password' };
      const attempt = () => phone.api().send(method, `/1.1/resetPasswordBySmsCode/${code}`, { body });
      expect(await refusal(attempt())).toEqual([400, 213]);
      const squatter = await phone.signUp();
      expect(await refusal(attempt())).toEqual([400, 215]);
      expect((await phone.me(squatter.session))['objectId']).toBe(squatter.id);
    });
  });

  describe('POST /1.1/requestChangePhoneNumber and /1.1/changePhoneNumber', () => {
    it('give the user of the session a proven number', async () => {
      const user = await signUp(phone.api(), { mobilePhoneNumber: uniquePhone() });
      const code = await phone.codeBy('requestChangePhoneNumber', {}, user.session);
      expect(phone.messages()[0]?.text).toMatch(/is your code to use this phone number\. It is valid for 6 minutes\.$/);
      expect(await refusal(phone.post('changePhoneNumber', { code: wrong(code) }, user.session))).toEqual([400, 603]);
      expect((await phone.post('changePhoneNumber', { code }, user.session)).body).toEqual({});
      expect(await phone.me(user.session)).toMatchObject({
        mobilePhoneNumber: phone.number,
        mobilePhoneVerified: true,
      });
      expect(await refusal(phone.post('changePhoneNumber', { code }, user.session))).toEqual([400, 603]);
    });

    it('give it to no other user', async () => {
      const [user, thief] = [await signUp(phone.api()), await signUp(phone.api())];
      const code = await phone.codeBy('requestChangePhoneNumber', { ttl: 360 }, user.session);
      expect(await refusal(phone.post('changePhoneNumber', { code }, thief.session))).toEqual([400, 603]);
      expect((await phone.post('changePhoneNumber', { code }, user.session)).status).toBe(200);
    });

    it.each(['requestChangePhoneNumber', 'changePhoneNumber'])('%s needs a session', async (path) => {
      for (const session of [undefined, 'unknown', 'x'.repeat(500)])
        expect(await refusal(phone.post(path, { code: '123456' }, session))).toEqual([403, 206]);
      expect(phone.messages()).toEqual([]);
    });

    it('refuse a number of another user, before the code and after it', async () => {
      const user = await signUp(phone.api());
      const code = await phone.codeBy('requestChangePhoneNumber', {}, user.session);
      await phone.signUp();
      expect(await refusal(phone.post('changePhoneNumber', { code }, user.session))).toEqual([400, 214]);
      expect(await refusal(phone.post('requestChangePhoneNumber', {}, user.session))).toEqual([400, 214]);
      expect((await phone.me(user.session))['mobilePhoneNumber']).toBeUndefined();
    });

    it('refuse a user whose ACL does not let him write', async () => {
      const user = await signUp(phone.api(), { ACL: { '*': { read: true } } });
      const code = await phone.codeBy('requestChangePhoneNumber', {}, user.session);
      expect(await refusal(phone.post('changePhoneNumber', { code }, user.session))).toEqual([403, 403]);
    });
  });

  describe('settings', () => {
    const CODE = '246810';
    let app: AppKeys;
    const someone = (number = uniquePhone()) => new PhoneClient(server(), number, app);
    const settled = (check: () => Promise<void>) => eventually(check, 3_000);

    beforeAll(async () => {
      app = await createApplication(server());
    });

    it('testPhones: the code that was set, also without a request and again, no message, no limit', async () => {
      const tester = someone();
      await setSetting(server(), app, 'testPhones', JSON.stringify({ [tester.number]: CODE }));
      await settled(async () => {
        expect((await tester.post(`verifySmsCode/${CODE}`)).status).toBe(200);
      });
      for (let request = 0; request < 12; request += 1) expect((await tester.post('requestSmsCode')).status).toBe(200);
      for (const status of [201, 200, 200])
        expect((await tester.post('usersByMobilePhone', { smsCode: CODE })).status).toBe(status);
      expect((await tester.post('login', { smsCode: CODE })).status).toBe(200);
      expect(tester.messages()).toEqual([]);
    });

    it('several requests at once with the code of a test number: one makes the user, the others log in', async () => {
      const tester = someone();
      await setSetting(server(), app, 'testPhones', JSON.stringify({ [tester.number]: CODE }));
      await settled(async () => {
        expect((await tester.post(`verifySmsCode/${CODE}`)).status).toBe(200);
      });
      const entries = await Promise.all(
        Array.from({ length: 4 }, () => tester.post('usersByMobilePhone', { smsCode: CODE })),
      );
      expect(entries.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
      expect(new Set(entries.map(({ body }) => body['sessionToken']))).toHaveProperty('size', 1);
    });

    it('seven wrong codes lock every login method, and a reset by code unlocks them', async () => {
      const tester = someone();
      await setSetting(server(), app, 'testPhones', JSON.stringify({ [tester.number]: CODE }));
      const user = await tester.signUpProven();
      await settled(async () => {
        await tester.post('requestLoginSmsCode');
        expect((await tester.post('login', { smsCode: CODE })).status).toBe(200);
      });
      // At most four for each purpose: the fifth would invalidate its code.
      for (const path of ['login', 'usersByMobilePhone', 'login', 'usersByMobilePhone', 'login', 'usersByMobilePhone'])
        expect(await refusal(tester.post(path, { smsCode: wrong(CODE) }))).toEqual([400, 603]);
      expect(await refusal(tester.post('login', { smsCode: wrong(CODE) }))).toEqual([400, 219]);
      for (const [path, proof] of [
        ['requestLoginSmsCode', {}],
        ['requestSmsCode', {}],
      ] as const)
        expect((await tester.post(path, proof)).status).toBe(200);
      const locked = await tester.post('login', { smsCode: CODE });
      expect([locked.body['code'], Number(locked.headers.get('retry-after')) > 800]).toEqual([219, true]);
      expect(await refusal(tester.post('usersByMobilePhone', { smsCode: CODE }))).toEqual([400, 219]);
      expect(await refusal(tester.post('login', { password: user.password }))).toEqual([400, 219]);
      await tester.post('requestPasswordResetBySmsCode');
      const body = { mobilePhoneNumber: tester.number, password: 'new password' };
      expect((await tester.api().put(`/1.1/resetPasswordBySmsCode/${CODE}`, body)).status).toBe(200);
      expect((await tester.post('login', { password: 'new password' })).status).toBe(200);
      expect((await tester.post('login', { smsCode: CODE })).status).toBe(200);
    });

    it('codes of test numbers cannot be found by asking for them again and again', async () => {
      const tester = someone();
      await setSetting(server(), app, 'testPhones', JSON.stringify({ [tester.number]: CODE }));
      await tester.signUpProven();
      await settled(async () => {
        expect((await tester.post('requestPasswordResetBySmsCode')).status).toBe(200);
        expect((await tester.post('requestPasswordResetBySmsCode')).status).toBe(200);
      });
      const reset = (code: string) =>
        tester
          .api()
          .put(`/1.1/resetPasswordBySmsCode/${code}`, { mobilePhoneNumber: tester.number, password: 'taken over' });
      for (let guess = 0; guess < 5; guess += 1) {
        expect(await refusal(reset(wrong(CODE)))).toEqual([400, 603]);
        expect((await tester.post('requestPasswordResetBySmsCode')).status).toBe(200);
      }
      expect(await refusal(reset(CODE))).toEqual([400, 603]);
    });

    it('ten wrong codes without a number: from then on codes need theirs', async () => {
      const tester = someone();
      await setSetting(server(), app, 'testPhones', JSON.stringify({ [tester.number]: CODE }));
      await tester.signUp();
      await settled(async () => {
        await tester.post('requestMobilePhoneVerify');
        expect(tester.messages()).toEqual([]);
      });
      const guesses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => tester.api(index).post(`/1.1/verifyMobilePhone/${wrong(CODE)}`)),
      );
      expect(guesses.map(({ body }) => body['code'])).toEqual(guesses.map(() => 603));
      expect(await refusal(tester.api().post(`/1.1/verifyMobilePhone/${CODE}`))).toEqual([400, 603]);
      expect((await tester.post(`verifyMobilePhone/${CODE}`)).status).toBe(200);
    });

    it('forbidUnverifiedEmailLogin keeps out by code too, and leaves the code good', async () => {
      await setSetting(server(), app, 'verifyEmailOnSignUp', 'true');
      await setSetting(server(), app, 'forbidUnverifiedEmailLogin', 'true');
      const unverified = someone();
      await settled(async () => {
        const other = await signUp(unverified.api(), { email: `${unique('mail')}@example.com` });
        const { body } = await unverified
          .api()
          .post('/1.1/login', { username: other.username, password: other.password });
        expect(body['code']).toBe(216);
      });
      await unverified.signUpProven({ email: `${unique('mail')}@example.com` });
      const smsCode = await unverified.codeBy('requestLoginSmsCode');
      expect(await refusal(unverified.post('login', { smsCode }))).toEqual([400, 216]);
      expect(await refusal(unverified.post('login', { smsCode }))).toEqual([400, 216]);
      const entering = someone();
      await entering.signUpProven({ email: `${unique('mail')}@example.com` });
      const entryCode = await entering.codeBy('requestSmsCode');
      expect(await refusal(entering.post('usersByMobilePhone', { smsCode: entryCode }))).toEqual([400, 216]);
      await setSetting(server(), app, 'forbidUnverifiedEmailLogin', 'false');
      await settled(async () => {
        expect((await unverified.post('login', { smsCode })).status).toBe(200);
      });
    });

    describe('quietProfile', () => {
      const clients = async () => {
        const [unregistered, unproven, proven] = [someone(), someone(), someone()];
        await unproven.signUp();
        await proven.signUpProven();
        return { unregistered, unproven, proven };
      };

      beforeAll(async () => {
        await setSetting(server(), app, 'quietProfile', 'true');
        await settled(async () => {
          expect((await someone().post('requestLoginSmsCode')).status).toBe(200);
        });
      });

      it.each(['requestLoginSmsCode', 'requestPasswordResetBySmsCode', 'requestMobilePhoneVerify'])(
        '%s is answered alike, the limit too, and sends only where it should',
        async (path) => {
          const { unregistered, unproven, proven } = await clients();
          for (const one of [unregistered, unproven, proven]) {
            expect((await one.post(path)).body).toEqual({});
            expect((await one.post(path)).body['code']).toBe(1);
          }
          const receiver = path === 'requestMobilePhoneVerify' ? unproven : proven;
          await eventually(() => {
            expect(receiver.messages()).toHaveLength(1);
          });
          for (const other of [unregistered, unproven, proven].filter((one) => one !== receiver))
            expect(other.messages()).toEqual([]);
        },
      );

      it('requestChangePhoneNumber does not reveal that a number is taken', async () => {
        const { proven } = await clients();
        const { session } = await signUp(proven.api());
        expect((await proven.post('requestChangePhoneNumber', {}, session)).body).toEqual({});
        expect(await refusal(proven.post('changePhoneNumber', { code: CODE }, session))).toEqual([400, 603]);
        expect(proven.messages()).toEqual([]);
      });

      it.each(['login', 'usersByMobilePhone'])('%s with a wrong code is answered alike, the lock too', async (path) => {
        const { unregistered, unproven, proven } = await clients();
        for (const one of [unregistered, unproven, proven]) {
          const codes = [];
          for (let attempt = 0; attempt < 8; attempt += 1)
            codes.push((await one.post(path, { smsCode: CODE })).body['code']);
          expect(codes).toEqual([603, 603, 603, 603, 603, 603, 219, 219]);
        }
      });

      it('wrong fields beside a wrong code reveal nothing', async () => {
        const { unregistered, unproven, proven } = await clients();
        for (const one of [unregistered, unproven, proven])
          for (const wrongField of [{ username: 5 }, { password: 5 }, { objectId: 'mine' }, { ACL: 1 }])
            expect(await refusal(one.post('usersByMobilePhone', { smsCode: CODE, ...wrongField }))).toEqual([400, 603]);
      });

      it('the owner of the number logs in despite guesses of others', async () => {
        const newcomer = someone();
        for (let attempt = 0; attempt < 8; attempt += 1) await newcomer.post('usersByMobilePhone', { smsCode: CODE });
        const smsCode = await newcomer.codeBy('requestSmsCode');
        expect((await newcomer.post('usersByMobilePhone', { smsCode })).status).toBe(201);
      });
    });
  });
}
