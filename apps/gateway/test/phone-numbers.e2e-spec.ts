import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { phoneNumbersRpc } from '#contracts';
import type { FakeTransport } from '#testing';
import type { RateLimits } from '../src/rate-limits/request-limits.js';
import { APPLICATION, fakeServices, GATEWAY_CONFIG, startGateway } from './start-gateway.js';

const OFF: RateLimits = { requests: undefined, logins: undefined, signUps: undefined, messages: undefined };
const ONCE = { count: 1, windowSeconds: 60 };
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const BODY = { mobilePhoneNumber: '13812345678', any: ['thing'] };
const user = { objectId: 'a'.repeat(24), updatedAt: '2026-01-01T00:00:00.000Z' };

/** Method, path, RPC, the code of the path where there is one, and the limit in which the request counts. */
const ROUTES: [string, string, string, string | undefined, 'messages' | 'logins'][] = [
  ['POST', 'requestSmsCode', 'requestSmsCode', undefined, 'messages'],
  ['POST', 'verifySmsCode/123456', 'verifySmsCode', '123456', 'logins'],
  ['POST', 'usersByMobilePhone', 'signUpOrLogInByPhone', undefined, 'logins'],
  ['POST', 'requestLoginSmsCode', 'requestLoginSmsCode', undefined, 'messages'],
  ['POST', 'requestMobilePhoneVerify', 'requestPhoneVerification', undefined, 'messages'],
  ['POST', 'verifyMobilePhone/%00', 'verifyPhone', '\0', 'logins'],
  ['POST', 'verfyMobilePhone/123456', 'verifyPhone', '123456', 'logins'],
  ['POST', 'requestPasswordResetBySmsCode', 'requestPasswordResetBySms', undefined, 'messages'],
  ['PUT', 'resetPasswordBySmsCode/x%2Fy', 'resetPasswordBySms', 'x/y', 'logins'],
  ['POST', 'resetPasswordBySmsCode/123456', 'resetPasswordBySms', '123456', 'logins'],
  ['POST', 'requestChangePhoneNumber', 'requestPhoneChange', undefined, 'messages'],
  ['POST', 'changePhoneNumber', 'changePhone', undefined, 'logins'],
];

/** The RPCs whose reply is empty. */
const WITHOUT_REPLY = [
  phoneNumbersRpc.requestCode,
  phoneNumbersRpc.verifyCode,
  phoneNumbersRpc.requestLoginCode,
  phoneNumbersRpc.requestVerification,
  phoneNumbersRpc.requestPasswordReset,
  phoneNumbersRpc.resetPassword,
  phoneNumbersRpc.requestChange,
  phoneNumbersRpc.change,
];

describe('phone numbers at the gateway', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const start = async (limits: Partial<RateLimits> = {}) => {
    service = await startGateway(accounts, [], { rateLimits: { ...OFF, ...limits }, trustedProxies: [] });
  };
  const send = (method: string, path: string) =>
    fetch(`http://127.0.0.1:${service.port}/1.1/${path}`, {
      method,
      headers: { ...SIGNED, 'content-type': 'application/json', 'x-lc-session': 'token' },
      body: JSON.stringify(BODY),
    });

  beforeEach(() => {
    accounts = fakeServices();
    for (const contract of WITHOUT_REPLY) accounts.answer(contract, () => ({}));
    accounts.answer(phoneNumbersRpc.verify, () => ({ result: { ...user } }));
    accounts.answer(phoneNumbersRpc.signUpOrLogIn, () => ({ user, isNew: false }));
  });
  afterEach(() => service.stop());

  it.each(ROUTES)('%s %s calls accounts.%s once, with its body', async (method, path, rpc, code) => {
    await start();
    expect((await send(method, path)).status).toBe(200);
    expect(accounts.calledPatterns).toEqual([`accounts.${rpc}`]);
    expect(accounts.calls.at(-1)?.data).toEqual({
      caller: {
        requestId: expect.any(String) as string,
        appId: APPLICATION.id,
        isMaster: false,
        sessionToken: 'token',
      },
      body: BODY,
      ...(code === undefined ? {} : { code }),
    });
  });

  it.each(ROUTES)('%s %s has its limit per address', async (...route) => {
    const [method, path, , , group] = route;
    await start({ [group]: ONCE });
    expect([(await send(method, path)).status, (await send(method, path)).status]).toEqual([200, 429]);
  });

  it.each([
    [true, 201],
    [false, 200],
  ])('a user by a phone number, new: %s, gets %i and its location', async (isNew, status) => {
    accounts.answer(phoneNumbersRpc.signUpOrLogIn, () => ({ user, isNew }));
    await start();
    const response = await send('POST', 'usersByMobilePhone');
    expect([response.status, await response.json()]).toEqual([status, user]);
    expect(response.headers.get('location')).toBe(`${GATEWAY_CONFIG.baseUrl}/1.1/users/${user.objectId}`);
  });
});
