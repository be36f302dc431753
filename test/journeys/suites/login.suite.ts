import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, signUp, type TestUser, unique, uniquePhone } from '#testing';

/** Specification, POST /1.1/login. */
export function describeLogin(server: () => GatepostServer): void {
  describe('POST /1.1/login', () => {
    let api: ApiClient;
    let user: TestUser;
    const contact = { email: `${unique('login')}@example.com`, mobilePhoneNumber: uniquePhone() };
    const logIn = (body: unknown) => api.post('/1.1/login', body);

    beforeAll(async () => {
      api = appClient(server());
      user = await signUp(api, { ...contact, color: 'red' });
    });

    it.each<[string, () => Record<string, string>]>([
      ['username', () => ({ username: user.username })],
      ['email', () => ({ email: contact.email })],
      ['mobilePhoneNumber', () => ({ mobilePhoneNumber: contact.mobilePhoneNumber })],
      ['mobilePhoneNumber without its prefix', () => ({ mobilePhoneNumber: contact.mobilePhoneNumber.slice(3) })],
    ])('logs in by %s with the user and the same token', async (_, identifier) => {
      const { status, body } = await logIn({ ...identifier(), password: user.password });
      expect(status).toBe(200);
      expect(body).toEqual({
        objectId: user.id,
        username: user.username,
        ...contact,
        emailVerified: null,
        mobilePhoneVerified: false,
        sessionToken: user.session,
        createdAt: user.body['createdAt'],
        updatedAt: user.body['updatedAt'],
        color: 'red',
      });
    });

    it('also takes a query, as old SDKs send it', async () => {
      const logInBy = (password: string) =>
        api.get(`/1.1/login?${new URLSearchParams({ username: user.username, password }).toString()}`);
      const { status, body, headers } = await logInBy(user.password);
      expect([status, body['sessionToken'], headers.get('cache-control')]).toEqual([
        200,
        user.session,
        'no-cache,no-store',
      ]);
      expect((await logInBy('wrong')).body['code']).toBe(210);
    });

    it('ignores the other fields of a whole user object, and lets username win', async () => {
      const { body } = await logIn({
        ...user.body,
        username: user.username,
        email: 'other@example.com',
        password: user.password,
      });
      expect(body['objectId']).toBe(user.id);
    });

    const refused: [string, () => unknown, number][] = [
      ['a wrong password', () => ({ username: user.username, password: 'wrong' }), 210],
      ['the password in other case', () => ({ username: user.username, password: user.password.toUpperCase() }), 210],
      [
        'the password with a NUL byte behind it',
        () => ({ username: user.username, password: `${user.password}\0` }),
        210,
      ],
      ['an unknown username', () => ({ username: 'unknown-user', password: user.password }), 211],
      ['a username in other case', () => ({ username: user.username.toUpperCase(), password: user.password }), 211],
      ['an unknown e-mail address', () => ({ email: 'unknown@example.com', password: user.password }), 211],
      ['an unknown phone number', () => ({ mobilePhoneNumber: '+8613900000000', password: user.password }), 211],
      ['a username with a NUL byte', () => ({ username: `${user.username}\0`, password: user.password }), 211],
      ['no identifier', () => ({ password: user.password }), 200],
      ['nothing', () => ({}), 200],
      ['no password', () => ({ username: user.username }), 201],
      ['a password that is an object', () => ({ username: user.username, password: { $ne: '' } }), 218],
      ['a password that is true', () => ({ username: user.username, password: true }), 218],
      ['a username that is an object', () => ({ username: { $regex: '.*' }, password: user.password }), 217],
      ['an e-mail address that is a list', () => ({ email: [contact.email], password: user.password }), 125],
      ['a phone number that is an object', () => ({ mobilePhoneNumber: { $gt: '' }, password: user.password }), 127],
    ];
    it.each(refused)('refuses a login by %s', async (_, body, code) => {
      const reply = await logIn(body());
      expect([reply.status, reply.body['code']]).toEqual([400, code]);
      expect(Object.keys(reply.body).sort()).toEqual(['code', 'error']);
    });

    it('checks every byte of long passwords and of passwords with NUL bytes', async () => {
      const long = 'x'.repeat(100);
      const [longUser, nulUser] = [
        await signUp(api, { password: `${long}a` }),
        await signUp(api, { password: 'a\0b' }),
      ];
      expect((await logIn({ username: longUser.username, password: `${long}b` })).body['code']).toBe(210);
      expect((await logIn({ username: longUser.username, password: `${long}a` })).status).toBe(200);
      expect((await logIn({ username: nulUser.username, password: 'a\0c' })).body['code']).toBe(210);
      expect((await logIn({ username: nulUser.username, password: 'a\0b' })).status).toBe(200);
    });
  });
}
