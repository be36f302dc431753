import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, countUsers, type GatepostServer, signUp, unique, uniquePhone } from '#testing';

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Specification, POST /1.1/users (password sign-up). */
export function describeSignUp(server: () => GatepostServer): void {
  describe('POST /1.1/users', () => {
    let api: ApiClient;
    beforeAll(() => {
      api = appClient(server());
    });

    it('answers 201 with Location, id, time and session token', async () => {
      const username = unique('ada');
      const { status, headers, body } = await api.post('/1.1/users', { username, password: 'secret' });
      expect(status).toBe(201);
      const { port } = new URL(server().baseUrls[0] ?? '');
      // The address comes from the configuration, never from the request's Host header.
      expect(headers.get('location')).toMatch(
        new RegExp(`^http://localhost:${port}/1\\.1/users/${String(body['objectId'])}$`),
      );
      expect(headers.get('content-type')).toMatch(/^application\/json; ?charset=utf-8$/);
      expect(headers.get('cache-control')).toBe('no-cache,no-store');
      expect(headers.get('x-request-id')).toBeTruthy();
      expect(body).toEqual({
        objectId: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
        sessionToken: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        createdAt: expect.stringMatching(TIMESTAMP) as string,
        updatedAt: body['createdAt'],
        username,
        emailVerified: null,
        mobilePhoneVerified: false,
      });
    });

    it('keeps custom fields of every JSON type as they are', async () => {
      const custom = {
        text: 'ä 😀 "quoted" \\ \u2028',
        empty: '',
        integer: 42,
        fraction: -1.5e-7,
        large: 9_007_199_254_740_991,
        yes: true,
        nothing: null,
        list: [1, 'two', [3], { four: null }],
        object: { nested: { deep: [] } },
        A_1: 'upper',
      };
      const user = await signUp(api, custom);
      expect(user.body).toMatchObject(custom);
      expect((await api.get(`/1.1/users/${user.id}`)).body).toMatchObject(custom);
    });

    it('keeps e-mail and phone number, and puts +86 before a number without prefix', async () => {
      const [email, phone] = [`${unique('e')}@Example.COM`, uniquePhone()];
      const user = await signUp(api, { email, mobilePhoneNumber: phone.slice(3) });
      expect(user.body).toMatchObject({ email, mobilePhoneNumber: phone, mobilePhoneVerified: false });
    });

    it('never returns the password', async () => {
      const user = await signUp(api, { password: 'very-secret-password' });
      const replies = [user.body, (await api.get('/1.1/users/me', { session: user.session })).body];
      expect(JSON.stringify(replies)).not.toMatch(/very-secret-password|passw|bcrypt|salt/i);
    });

    it('stores an ACL and shows it to the owner', async () => {
      const user = await signUp(api, { ACL: { '*': { read: true } } });
      expect(user.body['ACL']).toEqual({ '*': { read: true } });
    });

    const refused: [string, unknown, number][] = [
      ['no username', { password: 'p' }, 200],
      ['an empty username', { username: '', password: 'p' }, 200],
      ['username null', { username: null, password: 'p' }, 200],
      ['a blank username', { username: '   ', password: 'p' }, 217],
      ['a username that is a number', { username: 7, password: 'p' }, 217],
      ['a username that is an object', { username: { $ne: null }, password: 'p' }, 217],
      ['a username that is too long', { username: 'u'.repeat(256), password: 'p' }, 217],
      ['no password', { username: 'x' }, 201],
      ['an empty password', { username: 'x', password: '' }, 201],
      ['a password that is an object', { username: 'x', password: { $gt: '' } }, 218],
      ['a password that is a list', { username: 'x', password: ['p'] }, 218],
      ['an e-mail address without @', { username: 'x', password: 'p', email: 'not-an-address' }, 125],
      ['an e-mail address that is an object', { username: 'x', password: 'p', email: { $regex: '.' } }, 125],
      ['an e-mail address with a line break', { username: 'x', password: 'p', email: 'a@b.cc\r\nBcc: c@d.ee' }, 125],
      ['a phone number of letters', { username: 'x', password: 'p', mobilePhoneNumber: 'call me' }, 127],
      ['a phone number that is a number', { username: 'x', password: 'p', mobilePhoneNumber: 13_912_345_678 }, 127],
      ['an ACL that is a list', { username: 'x', password: 'p', ACL: [] }, 123],
      ['an ACL that grants a text', { username: 'x', password: 'p', ACL: { '*': { read: 'no' } } }, 123],
      ['an ACL with an unknown permission', { username: 'x', password: 'p', ACL: { '*': { own: true } } }, 123],
      ['its own objectId', { username: 'x', password: 'p', objectId: 'a'.repeat(24) }, 117],
      ['its own sessionToken', { username: 'x', password: 'p', sessionToken: 'a'.repeat(25) }, 117],
      ['its own createdAt', { username: 'x', password: 'p', createdAt: '2020-01-01T00:00:00.000Z' }, 117],
      ['its own emailVerified', { username: 'x', password: 'p', email: 'x@example.com', emailVerified: true }, 117],
      ['its own mobilePhoneVerified', { username: 'x', password: 'p', mobilePhoneVerified: true }, 117],
    ];
    it.each(refused)('refuses %s', async (_, body, code) => {
      const before = await countUsers(server());
      const reply = await api.post('/1.1/users', body);
      expect([reply.status, reply.body['code'], typeof reply.body['error']]).toEqual([400, code, 'string']);
      expect(reply.body['sessionToken']).toBeUndefined();
      expect(await countUsers(server())).toBe(before);
    });
  });

  describe('uniqueness (specification, Limits)', () => {
    let api: ApiClient;
    beforeAll(() => {
      api = appClient(server());
    });

    it('refuses a taken username, e-mail address and phone number', async () => {
      const account = {
        username: unique('taken'),
        email: `${unique('taken')}@example.com`,
        mobilePhoneNumber: uniquePhone(),
      };
      await signUp(api, account);
      const again = (field: keyof typeof account) =>
        api.post('/1.1/users', { username: unique('other'), password: 'p', [field]: account[field] });
      expect((await again('username')).body).toEqual({ code: 202, error: 'Username has already been taken.' });
      expect((await again('email')).body).toEqual({ code: 203, error: 'Email has already been taken.' });
      expect((await again('mobilePhoneNumber')).body).toEqual({
        code: 214,
        error: 'Mobile phone number has already been taken.',
      });
    });

    it('takes names that differ in case only for different', async () => {
      const name = unique('case');
      await signUp(api, { username: name, email: `${name}@example.com` });
      await signUp(api, { username: name.toUpperCase(), email: `${name.toUpperCase()}@example.com` });
      expect((await api.post('/1.1/login', { username: name.toUpperCase(), password: 'correct horse' })).status).toBe(
        200,
      );
    });

    it('frees the names of a deleted user', async () => {
      const fields = { username: unique('free'), email: `${unique('free')}@example.com` };
      const first = await signUp(api, fields);
      await api.delete(`/1.1/users/${first.id}`, { session: first.session });
      const second = await signUp(api, fields);
      expect(second.id).not.toBe(first.id);
    });

    it('holds for updates as well', async () => {
      const [one, two] = [await signUp(api, { email: `${unique('m')}@example.com` }), await signUp(api)];
      const put = (body: unknown) => api.put(`/1.1/users/${two.id}`, body, { session: two.session });
      expect((await put({ username: one.username })).body['code']).toBe(202);
      expect((await put({ email: one.body['email'] })).body['code']).toBe(203);
      expect((await api.get(`/1.1/users/${two.id}`)).body).toMatchObject({
        username: two.username,
        updatedAt: two.body['updatedAt'],
      });
    });
  });
}
