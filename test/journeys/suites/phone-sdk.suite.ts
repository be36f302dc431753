import AV from 'leancloud-storage';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codeSentBy, type GatepostServer } from '#testing';
import { PhoneClient } from './phone-client.js';

/** The library has more parameters than its types. */
interface SmsRequests {
  requestSmsCode(data: string | Record<string, unknown>): Promise<unknown>;
  verifySmsCode(code: string, phone: string): Promise<unknown>;
}

/** The phone number methods of the client library as it is on npm. */
export function describePhoneSdk(server: () => GatepostServer): void {
  describe('the npm package leancloud-storage: phone numbers', () => {
    const cloud = AV.Cloud as unknown as SmsRequests;
    let phone: PhoneClient;
    const codeOf = (request: () => Promise<unknown>) =>
      codeSentBy(server(), phone.number, async () => {
        await request();
        return { status: 200, body: {} };
      });

    beforeAll(() => {
      const { app, baseUrls } = server();
      AV.init({ appId: app.id, appKey: app.appKey, serverURL: baseUrls[0] ?? '' });
    });
    beforeEach(async () => {
      phone = new PhoneClient(server());
      await AV.User.logOut();
    });

    it('Cloud.requestSmsCode, Cloud.verifySmsCode', async () => {
      const code = await codeOf(() =>
        cloud.requestSmsCode({ mobilePhoneNumber: phone.number, name: 'Shop', op: 'a payment', ttl: 5 }),
      );
      await expect(cloud.verifySmsCode('000000', phone.number)).rejects.toMatchObject({ code: 603 });
      await cloud.verifySmsCode(code, phone.number);
      await expect(cloud.verifySmsCode(code, phone.number)).rejects.toMatchObject({ code: 603 });
    });

    it('User.signUpOrlogInWithMobilePhone', async () => {
      const code = await codeOf(() => cloud.requestSmsCode(phone.number));
      const user = await AV.User.signUpOrlogInWithMobilePhone(phone.number, code, { color: 'green' });
      expect([user.getUsername(), user.get('color'), user.get('mobilePhoneVerified')]).toEqual([
        phone.number,
        'green',
        true,
      ]);
      expect(AV.User.current().id).toBe(user.id);
      expect((await phone.me(user.getSessionToken()))['objectId']).toBe(user.id);
    });

    it('User.requestLoginSmsCode, User.logInWithMobilePhoneSmsCode', async () => {
      const { id, session } = await phone.signUpProven();
      const code = await codeOf(() => AV.User.requestLoginSmsCode(phone.number));
      const user = await AV.User.logInWithMobilePhoneSmsCode(phone.number, code);
      expect([user.id, user.getSessionToken()]).toEqual([id, session]);
    });

    it('User.requestMobilePhoneVerify, User.verifyMobilePhone: without a number, logged in or not', async () => {
      const user = await phone.signUp();
      const code = await codeOf(() => AV.User.requestMobilePhoneVerify(phone.number));
      await AV.User.verifyMobilePhone(code);
      expect((await phone.api().get(`/1.1/users/${user.id}`)).body['mobilePhoneVerified']).toBe(true);
      phone = new PhoneClient(server());
      const other = await phone.signUp();
      await AV.User.become(other.session);
      await AV.User.verifyMobilePhone(await codeOf(() => AV.User.requestMobilePhoneVerify(phone.number)));
      expect((await phone.me(other.session))['mobilePhoneVerified']).toBe(true);
    });

    it('User.requestPasswordResetBySmsCode, User.resetPasswordBySmsCode: without a number', async () => {
      const { id } = await phone.signUpProven();
      const code = await codeOf(() => AV.User.requestPasswordResetBySmsCode(phone.number));
      await AV.User.resetPasswordBySmsCode(code, 'new password');
      expect((await AV.User.logInWithMobilePhone(phone.number, 'new password')).id).toBe(id);
    });

    it('User.requestChangePhoneNumber, User.changePhoneNumber', async () => {
      const user = await new PhoneClient(server()).signUpProven();
      await AV.User.become(user.session);
      const code = await codeOf(() => AV.User.requestChangePhoneNumber(phone.number));
      await AV.User.changePhoneNumber(phone.number, code);
      expect(await phone.me(user.session)).toMatchObject({
        mobilePhoneNumber: phone.number,
        mobilePhoneVerified: true,
      });
    });
  });
}
