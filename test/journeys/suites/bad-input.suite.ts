import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, signUp, type TestUser, unique } from '#testing';

const nested = (depth: number, value: unknown): unknown => (depth === 0 ? value : { a: nested(depth - 1, value) });
const deepText = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const MEGABYTE = 1_048_576;
const USER = { __type: 'Pointer', className: '_User', objectId: 'a1' };

/** Malformed requests: a clear 4xx with its code, and nothing is changed. */
export function describeBadInput(server: () => GatepostServer): void {
  describe('bad input', () => {
    let api: ApiClient;
    let user: TestUser;
    const put = (body: unknown) => api.put(`/1.1/users/${user.id}`, body, { session: user.session });
    const state = async () => (await api.get('/1.1/users/me', { session: user.session })).body;

    beforeAll(async () => {
      api = appClient(server());
      user = await signUp(api, { color: 'red' });
    });

    const malformed: [string, string, number][] = [
      ['text that is no JSON', 'hello', 107],
      ['JSON that is cut off', '{"color": "blu', 107],
      ['a trailing comma', '{"color": "blue",}', 107],
      ['a list', '[{"color": "blue"}]', 107],
      ['a string', '"blue"', 107],
      ['a number', '1', 107],
      ['true', 'true', 107],
      ['nesting of 100,000 levels', deepText(100_000), 107],
      ['lists nested 100,000 levels', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 107],
      ['a __proto__ key', '{"__proto__": {"isAdmin": true}}', 105],
      ['a nested __proto__ key', '{"a": {"b": [{"__proto__": {"isAdmin": true}}]}}', 105],
      ['a byte order mark and garbage', '\ufeff{', 107],
    ];
    it.each(malformed)('refuses %s', async (_, body, code) => {
      const before = await state();
      for (const reply of [await put(body), await api.post('/1.1/users', body), await api.post('/1.1/login', body)]) {
        expect([reply.status, reply.body['code']]).toEqual([400, code]);
      }
      expect(await state()).toEqual(before);
    });

    const refused: [string, unknown, number][] = [
      ['constructor as a key', { constructor: 1 }, 105],
      ['prototype as a key', { prototype: { x: 1 } }, 105],
      ['a nested constructor', { a: { constructor: { prototype: 1 } } }, 105],
      ['a path into a built-in field', { 'username.x': 1 }, 105],
      ['a path into the ACL', { 'ACL.*': { read: true } }, 105],
      ['a path into a field of the server', { 'sessionToken.x': 1 }, 117],
      ['a path into an entry of authData', { 'authData.weixin.openid': { __op: 'Delete' } }, 105],
      ['a path that ends with a dot', { 'a.': 1 }, 105],
      ['a path through a prototype', { 'a.__proto__.b': 1 }, 105],
      ['a path through a constructor', { 'constructor.prototype.polluted': 1 }, 105],
      ['a path with $', { 'a.$b': 1 }, 121],
      ['a path of nine levels', { 'a.b.c.d.e.f.g.h.i': 1 }, 105],
      ['a value and its part', { a: {}, 'a.b': 1 }, 105],
      ['a key with $', { $set: { color: 'blue' } }, 105],
      ['a key that begins with a digit', { '1a': 1 }, 105],
      ['a key that begins with _', { _rperm: [] }, 105],
      ['an empty key', { '': 1 }, 105],
      ['a key of 1000 letters', { ['k'.repeat(1000)]: 1 }, 105],
      ['a key with a NUL byte', { 'a\0': 1 }, 105],
      ['a nested key with $', { a: { $gt: 1 } }, 121],
      ['a nested key with a dot', { a: { 'b.c': 1 } }, 121],
      ['an unknown operation', { color: { __op: 'Explode' } }, 111],
      ['an operation without a name', { color: { __op: null } }, 111],
      ['a nested operation', { a: { b: { __op: 'Delete' } } }, 111],
      ['a NUL byte in a value', { color: 'a\0b' }, 111],
      ['a NUL byte in a nested key', { a: { 'b\0': 1 } }, 105],
      ['half of a surrogate pair', { color: '\ud800' }, 111],
      ['the other half', { color: ['x\udc00'] }, 111],
      ['33 levels of nesting', { a: nested(33, 1) }, 111],
      ['objectId', { objectId: 'x' }, 117],
      ['createdAt', { createdAt: '2020-01-01T00:00:00.000Z' }, 117],
      ['updatedAt', { updatedAt: null }, 117],
      ['sessionToken', { sessionToken: { __op: 'Delete' } }, 117],
      ['salt', { salt: 'x' }, 117],
      ['className', { className: 'Other' }, 117],
      ['emailVerified', { emailVerified: true }, 117],
      ['a username that is an object', { username: {} }, 217],
      ['an operation on a username', { username: { __op: 'Delete' } }, 111],
      ['an operation on a password', { password: { __op: 'Increment', amount: 1 } }, 111],
      ['an unfitting operation on an e-mail address', { email: { __op: 'Add', objects: ['a@b.co'] } }, 111],
      ['an unfitting operation on an ACL', { ACL: { __op: 'AddUnique', objects: ['*'] } }, 111],
      ['a relation', { friends: { __op: 'AddRelation', objects: [USER] } }, 111],
      ['a relation to nothing', { friends: { __op: 'AddRelation', objects: [] } }, 128],
      ['a Batch in a Batch', { a: { __op: 'Batch', ops: [{ __op: 'Batch', ops: [{ __op: 'Delete' }] }] } }, 111],
      [
        'a pollution within a Batch',
        { a: { __op: 'Batch', ops: [{ __op: 'Add', objects: [{ constructor: 1 }] }] } },
        105,
      ],
      ['an unknown type', { a: { __type: 'Set' } }, 111],
      ['a date that is none', { a: { __type: 'Date', iso: '2026-02-30' } }, 111],
      ['a place that is none', { a: { __type: 'GeoPoint', latitude: 91, longitude: 0 } }, 111],
      ['bytes that are none', { a: { __type: 'Bytes', base64: '%' } }, 111],
      ['a pointer to nothing', { a: { __type: 'Pointer', className: 'Post' } }, 106],
      ['a username with a NUL byte', { username: 'a\0' }, 217],
      ['a username with half of a surrogate pair', { username: 'a\ud83d' }, 217],
      ['a password that is null', { password: null }, 218],
      ['an ACL key that is no user', { ACL: { 'not a user!': { read: true } } }, 123],
      ['an ACL that is a string', { ACL: 'public' }, 123],
      ['an ACL whose value is a string', { ACL: { '*': { read: 'true' } } }, 123],
      ['authData that is a string', { authData: 'x' }, 111],
    ];
    it.each(refused)('refuses names and values that no client may write: %s', async (_, body, code) => {
      const before = await state();
      const update = await put(body);
      expect([update.status, update.body['code']]).toEqual([400, code]);
      const creation = await api.post('/1.1/users', { username: unique('bad'), password: 'p', ...(body as object) });
      expect(creation.status).toBe(400);
      expect(await state()).toEqual(before);
    });

    it('does not pollute prototypes', async () => {
      await put('{"a": {"constructor": {"prototype": {"polluted": true}}}}');
      await put('{"__proto__": {"polluted": true}}');
      await put({ '__proto__.polluted': true });
      await put({ a: {}, 'b.constructor.prototype.polluted': { __op: 'Increment', amount: 1 } });
      const other = await signUp(api);
      expect(other.body['polluted']).toBeUndefined();
    });

    it('takes 32 levels of nesting and 50 levels of where it has no meaning', async () => {
      const value = nested(31, 'deep');
      expect((await put({ deep: value })).status).toBe(200);
      expect((await state())['deep']).toEqual(value);
      await put({ deep: { __op: 'Delete' } });
    });

    it('refuses a body over the limit with 413', async () => {
      const before = await state();
      const big = JSON.stringify({ color: 'x'.repeat(MEGABYTE) });
      for (const reply of [await put(big), await api.post('/1.1/users', big), await api.post('/1.1/login', big)]) {
        expect([reply.status, reply.body['code']]).toEqual([413, 413]);
      }
      expect(await state()).toEqual(before);
    });

    it('refuses an object that grows over the limit', async () => {
      const half = 'x'.repeat(MEGABYTE * 0.6);
      expect((await put({ first: half })).status).toBe(200);
      const { status, body } = await put({ second: half });
      const error = `The fields of the object may have at most ${MEGABYTE} bytes.`;
      expect([status, body]).toEqual([400, { code: 116, error }]);
      expect((await put({ first: { __op: 'Delete' } })).status).toBe(200);
    });

    it('refuses a sign-up that is small on its way and over the limit when it is written out', async () => {
      const numbers = `[${Array.from({ length: 100_000 }, () => '1e20').join(',')}]`;
      const { status, body } = await api.post(
        '/1.1/users',
        `{"username":"${unique('big')}","password":"p","list":${numbers}}`,
      );
      expect([status, body['code']]).toEqual([400, 116]);
    });

    it('counts an empty body, and null, as no fields', async () => {
      for (const body of ['', 'null', '{}', undefined]) expect((await put(body)).status).toBe(200);
      expect((await api.post('/1.1/login', 'null')).body['code']).toBe(200);
    });

    it('reads JSON whatever the content type says', async () => {
      for (const type of [
        'application/json;charset=utf-8',
        'application/x-www-form-urlencoded',
        'application/octet-stream',
        'json',
        '',
      ]) {
        const reply = await api.put(
          `/1.1/users/${user.id}`,
          { color: 'red' },
          { session: user.session, headers: { 'content-type': type } },
        );
        expect(reply.status).toBe(200);
      }
    });

    it.each([
      ['GET', '/1.1/unknown'],
      ['GET', '/1.1/classes/Other'],
      ['POST', '/1.1/users/me/unknown'],
      ['PATCH', '/1.1/users'],
      ['DELETE', '/1.1/users'],
      ['GET', '/1.1/'],
      ['GET', '/1.1/users/strictlyQuery'],
      ['GET', '/1.1/users/self/friends'],
      ['POST', '/1.1/functions/hello'],
      ['GET', '/1.1/requestCaptcha'],
    ])('answers 404 with code 101 to %s %s', async (method, path) => {
      const { status, body } = await api.send(method, path, method === 'GET' ? {} : { body: {} });
      expect([status, body['code']]).toEqual([404, 101]);
    });

    it.each([
      '/',
      '/1.1',
      '/2/users',
      '/healthz/x',
      '/%zz',
      '/1.1/users/%zz',
      '/1.1/users/%ff',
      '//',
      '/1.1/../etc/passwd',
      '/method-override',
    ])('answers 4xx to GET %s', async (path) => {
      const { status } = await api.get(path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    });

    it('tells neither stacks nor files nor the software in an error', async () => {
      const replies = [
        await put('{'),
        await api.get('/1.1/nope'),
        await put({ color: { __op: 'X' } }),
        await api.get('/%zz'),
      ];
      for (const { body, headers } of replies) {
        expect(JSON.stringify(body)).not.toMatch(/\bat \w+|node_modules|\.js|fastify|nest|typeorm|postgres|sql/i);
        expect(headers.get('x-powered-by') ?? headers.get('server')).toBeNull();
      }
    });
  });
}
