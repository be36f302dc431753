import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  type ApiReply,
  appClient,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  unique,
  uniquePhone,
} from '#testing';
import { PhoneClient } from './phone-client.js';
import { refusal } from './refusal.js';

const CODE = '123456';
const BAD_NUMBERS: [string, unknown, number][] = [
  ['no number', undefined, 212],
  ['null', null, 212],
  ['an empty string', '', 212],
  ['a number that is a number', 13812345678, 127],
  ['letters', 'not-a-number', 127],
  ['an object', { $gt: '' }, 127],
  ['a list', ['+8613812345678'], 127],
  ['true', true, 127],
  ['a line break', '+8613812345678\n', 127],
  ['a NUL byte', '+8613812345678\0', 127],
  ['SQL', "+8613812345678' OR '1'='1", 127],
  ['16 digits', '+1234567890123456', 127],
  ['100,000 digits', `+1${'2'.repeat(100_000)}`, 127],
];
const BAD_CODES: [string, unknown][] = [
  ['five digits', '12345'],
  ['seven digits', '1234567'],
  ['letters', 'abcdef'],
  ['an empty string', ''],
  ['a space behind it', '123456 '],
  ['another script', '١٢٣٤٥٦'],
  ['a NUL byte', '12345\0'],
  ['SQL', "' OR '1'='1"],
  ['400 digits', '1'.repeat(400)],
];
const WRONG_TYPES: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a number', 123456],
  ['true', true],
  ['a list', [CODE]],
  ['an object', { $ne: '' }],
];

/** Malformed requests: a clear 4xx with its code, and nothing is sent or changed. */
export function describePhoneBadInput(server: () => GatepostServer): void {
  describe('bad input to phone numbers', () => {
    let api: ApiClient;
    let session: string;

    const withNumber: [string, (body: Json) => Promise<ApiReply>][] = [
      ['requestSmsCode', (body) => api.post('/1.1/requestSmsCode', body)],
      ['verifySmsCode', (body) => api.post(`/1.1/verifySmsCode/${CODE}`, body)],
      ['usersByMobilePhone', (body) => api.post('/1.1/usersByMobilePhone', { smsCode: CODE, ...body })],
      ['requestLoginSmsCode', (body) => api.post('/1.1/requestLoginSmsCode', body)],
      ['requestMobilePhoneVerify', (body) => api.post('/1.1/requestMobilePhoneVerify', body)],
      ['requestPasswordResetBySmsCode', (body) => api.post('/1.1/requestPasswordResetBySmsCode', body)],
      ['requestChangePhoneNumber', (body) => api.post('/1.1/requestChangePhoneNumber', body, { session })],
      ['changePhoneNumber', (body) => api.post('/1.1/changePhoneNumber', { code: CODE, ...body }, { session })],
    ];
    const numberless: [string, (body: Json) => Promise<ApiReply>][] = [
      ['verifyMobilePhone', (body) => api.post(`/1.1/verifyMobilePhone/${CODE}`, body)],
      ['resetPasswordBySmsCode', (body) => api.put(`/1.1/resetPasswordBySmsCode/${CODE}`, { password: 'p', ...body })],
      [
        'resetPasswordBySmsCode by POST',
        (body) => api.post(`/1.1/resetPasswordBySmsCode/${CODE}`, { password: 'p', ...body }),
      ],
    ];

    beforeAll(async () => {
      api = appClient(server());
      session = (await signUp(api)).session;
    });

    describe.each(withNumber)('%s', (_, send) => {
      it.each(BAD_NUMBERS)('refuses %s', async (_name, mobilePhoneNumber, code) => {
        const { status, body } = await send({ mobilePhoneNumber });
        expect([status, body['code'], typeof body['error']]).toEqual([400, code, 'string']);
      });
    });

    describe.each(numberless)('%s', (_, send) => {
      it.each(BAD_NUMBERS.filter(([, , code]) => code === 127))('refuses %s', async (_name, mobilePhoneNumber) => {
        const { status, body } = await send({ mobilePhoneNumber });
        expect([status, body['code']]).toEqual([400, 127]);
      });
    });

    it.each(BAD_CODES)('no path takes %s for a code', async (_, code) => {
      const mobilePhoneNumber = uniquePhone();
      const inPath = encodeURIComponent(String(code));
      const replies = [
        await api.post('/1.1/usersByMobilePhone', { mobilePhoneNumber, smsCode: code }),
        await api.post('/1.1/changePhoneNumber', { mobilePhoneNumber, code }, { session }),
        ...(inPath === ''
          ? []
          : [
              await api.post(`/1.1/verifySmsCode/${inPath}`, { mobilePhoneNumber }),
              await api.post(`/1.1/verifyMobilePhone/${inPath}`, { mobilePhoneNumber }),
              await api.put(`/1.1/resetPasswordBySmsCode/${inPath}`, { mobilePhoneNumber, password: 'p' }),
              await api.post(`/1.1/resetPasswordBySmsCode/${inPath}`, { mobilePhoneNumber, password: 'p' }),
            ]),
      ];
      expect(replies.map(({ status, body }) => [status, body['code']])).toEqual(replies.map(() => [400, 603]));
    });

    it.each(WRONG_TYPES)('no body takes %s for a code', async (_, code) => {
      const mobilePhoneNumber = uniquePhone();
      for (const reply of [
        await api.post('/1.1/usersByMobilePhone', { mobilePhoneNumber, smsCode: code }),
        await api.post('/1.1/changePhoneNumber', { mobilePhoneNumber, code }, { session }),
      ])
        expect([reply.status, reply.body['code']]).toEqual([400, 603]);
    });

    it.each<[string, unknown, number]>([
      ['true', true, 603],
      ['a list', [CODE], 603],
      ['an object', { $ne: '' }, 603],
      ['nothing', undefined, 201],
      ['null', null, 201],
      ['an empty string', '', 201],
    ])('a login with %s for a code', async (_, smsCode, code) => {
      const reply = await api.post('/1.1/login', { mobilePhoneNumber: uniquePhone(), smsCode });
      expect([reply.status, reply.body['code']]).toEqual([400, code]);
    });

    it('a login by code needs a number, whatever else it names', async () => {
      const { body } = await api.post('/1.1/login', { username: 'ada', smsCode: CODE });
      expect(body['code']).toBe(212);
    });

    it.each<[string, Json]>([
      ['a ttl of 0', { ttl: 0 }],
      ['a ttl that is no number', { ttl: 'ten' }],
      ['a ttl that is an object', { ttl: { $gt: 1 } }],
      ['an unknown type', { smsType: 'pigeon' }],
      ['a type that is an object', { smsType: {} }],
      ['a name that is an object', { name: {} }],
      ['a name with a line break', { name: 'Shop\nYou have won' }],
      ['a name of 101 characters', { name: 'x'.repeat(101) }],
      ['an operation with an escape sequence', { op: '\u001b[2J' }],
      ['a template with a NUL byte', { template: 'a\0b' }],
      ['half of a surrogate pair', { sign: '\ud800' }],
      ['a variable of 500,000 characters', { order: 'x'.repeat(500_000) }],
      ['a variable that is an object', { order: { id: 1 } }],
      ['a variable named constructor[', { 'constructor[': 'x' }],
      ['1,000 variables', Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`v${index}`, 'x']))],
    ])('requestSmsCode refuses %s, and the number keeps its allowance', async (_, options) => {
      const mobilePhoneNumber = uniquePhone();
      const { status, body } = await api.post('/1.1/requestSmsCode', { mobilePhoneNumber, ...options });
      expect([status, body['code']]).toEqual([400, 111]);
      expect((await api.post('/1.1/requestSmsCode', { mobilePhoneNumber })).status).toBe(200);
    });

    it('variables named like parts of objects are variables', async () => {
      const body = { mobilePhoneNumber: uniquePhone(), constructor: 'x', prototype: 'y', toString: 'z' };
      expect((await api.post('/1.1/requestSmsCode', body)).status).toBe(200);
    });

    it.each<[string, unknown, number]>([
      ['nothing', undefined, 201],
      ['null', null, 201],
      ['an empty string', '', 201],
      ['a number', 7, 218],
      ['an object', { $ne: '' }, 218],
    ])('resetPasswordBySmsCode refuses %s for a password', async (_, password, code) => {
      const body = { mobilePhoneNumber: uniquePhone(), password };
      for (const method of ['PUT', 'POST']) {
        const reply = await api.send(method, `/1.1/resetPasswordBySmsCode/${CODE}`, { body });
        expect([reply.status, reply.body['code']]).toEqual([400, code]);
      }
    });

    describe('usersByMobilePhone with the right code', () => {
      let phone: PhoneClient;
      let smsCode: string;
      beforeAll(async () => {
        phone = new PhoneClient(server());
        smsCode = await phone.codeBy('requestSmsCode');
      });

      it.each<[string, Json, number]>([
        ['an account of a platform', { authData: { weixin: { openid: '1' } } }, 251],
        ['a name with $', { $set: 1 }, 105],
        ['a pointer without an id', { owner: { __type: 'Pointer' } }, 106],
        ['an unknown operation', { color: { __op: 'Explode' } }, 111],
        ['objectId', { objectId: 'x' }, 117],
        ['a nested name with $', { a: { $x: 1 } }, 121],
        ['an ACL that is text', { ACL: 'public' }, 123],
        ['an address that is none', { email: 'not-an-address' }, 125],
        ['an operation on a relation without pointers', { friends: { __op: 'AddRelation', objects: [] } }, 128],
        ['a username that is a number', { username: 7 }, 217],
        ['a password that is an object', { password: {} }, 218],
      ])('refuses %s', async (_, fields, code) => {
        expect(await refusal(phone.post('usersByMobilePhone', { smsCode, ...fields }))).toEqual([400, code]);
      });

      it('signs up after all that: the code is still good', async () => {
        expect((await phone.post('usersByMobilePhone', { smsCode })).status).toBe(201);
      });
    });

    it('usersByMobilePhone refuses an address that is taken, and fields over the limit, and leaves the code good', async () => {
      const phone = new PhoneClient(server());
      const { body: taken } = await signUp(api, { email: `${unique('taken')}@example.com` });
      const smsCode = await phone.codeBy('requestSmsCode');
      expect(await refusal(phone.post('usersByMobilePhone', { smsCode, email: taken['email'] }))).toEqual([400, 203]);
      const numbers = Array.from({ length: 100_000 }, () => '1e20').join(',');
      const large = `{"mobilePhoneNumber":"${phone.number}","smsCode":"${smsCode}","numbers":[${numbers}]}`;
      expect(await refusal(api.post('/1.1/usersByMobilePhone', large))).toEqual([400, 116]);
      expect((await phone.post('usersByMobilePhone', { smsCode })).status).toBe(201);
    });

    it.each(['requestChangePhoneNumber', 'changePhoneNumber'])('%s: the master key is no session', async (path) => {
      const { status, body } = await masterClient(server()).post(`/1.1/${path}`, {
        mobilePhoneNumber: uniquePhone(),
        code: CODE,
      });
      expect([status, body['code']]).toEqual([403, 206]);
    });

    it.each([
      ['GET', '/1.1/requestSmsCode'],
      ['POST', '/1.1/verifySmsCode'],
      ['POST', '/1.1/verifySmsCode/1/2'],
      ['PUT', '/1.1/usersByMobilePhone'],
      ['GET', '/1.1/resetPasswordBySmsCode/123456'],
      ['POST', '/1.1/requestCaptcha'],
    ])('%s %s is no path', async (method, path) => {
      const { status, body } = await api.send(method, path, method === 'GET' ? {} : { body: {} });
      expect([status, body['code']]).toEqual([404, 101]);
    });

    it('without credentials there is nothing', async () => {
      const { status } = await api.as({}).post('/1.1/requestSmsCode', { mobilePhoneNumber: uniquePhone() });
      expect(status).toBe(401);
    });
  });
}
