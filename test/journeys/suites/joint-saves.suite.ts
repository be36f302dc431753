import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  appClient,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';

interface Write {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body: Json;
  readonly where?: string;
}

const MISSING_ID = 'a'.repeat(24);
const PUBLIC = { '*': { read: true } };
/** Stands for numbers that are short on their way, and over the limit when they are written out. */
const MANY = '<many numbers>';
const manyNumbers = `[${Array.from({ length: 100_000 }, () => '1e20').join(',')}]`;
const textOf = (body: unknown) => JSON.stringify(body).replace(JSON.stringify(MANY), manyNumbers);
const roleName = () => unique('role').replaceAll('-', '_');

/** A save of several objects has no other errors than each of its writes has alone. */
export function describeJointSaves(server: () => GatepostServer): void {
  describe('POST /1.1/batch/save answers as the write that cannot be done is answered alone', () => {
    let master: ApiClient;
    let user: TestUser;
    let taken: { username: string; email: string; mobilePhoneNumber: string; role: string };

    const newUser = (fields: Json): Write => ({
      method: 'POST',
      path: '/1.1/users',
      body: { username: unique('joint'), password: 'p', ...fields },
    });
    const newRole = (fields: Json): Write => ({
      method: 'POST',
      path: '/1.1/roles',
      body: { name: roleName(), ACL: PUBLIC, ...fields },
    });
    const change = (body: Json, id = user.id): Write => ({ method: 'PUT', path: `/1.1/users/${id}`, body });

    beforeAll(async () => {
      master = masterClient(server());
      taken = {
        username: unique('taken'),
        email: `${unique('taken')}@example.com`,
        mobilePhoneNumber: uniquePhone(),
        role: roleName(),
      };
      const { role, ...account } = taken;
      user = await signUp(appClient(server()), account);
      await master.post('/1.1/roles', { name: role, ACL: PUBLIC });
    });

    it.each<[string, number, () => Write]>([
      ['a role without an ACL', 1, () => newRole({ ACL: null })],
      ['a condition that is no JSON', 102, () => ({ ...change({ color: 'red' }), where: '{' })],
      ['fields over the limit when they are written out', 116, () => change({ numbers: MANY })],
      ['a nested name with $', 121, () => change({ a: { $x: 1 } })],
      ['an ACL that is text', 123, () => change({ ACL: 'public' })],
      ['an address that is none', 125, () => change({ email: 'not-an-address' })],
      ['a phone number that is none', 127, () => change({ mobilePhoneNumber: 'call me' })],
      [
        'an operation on a relation without pointers',
        128,
        () => newRole({ users: { __op: 'AddRelation', objects: [] } }),
      ],
      ['the name of a role that is taken', 137, () => newRole({ name: taken.role })],
      ['the name of a role that is none', 139, () => newRole({ name: 'not a name!' })],
      ['no username', 200, () => newUser({ username: null })],
      ['an address that is taken', 203, () => newUser({ email: taken.email })],
      ['a user that does not exist', 211, () => change({ color: 'red' }, MISSING_ID)],
      ['a phone number that is taken', 214, () => newUser({ mobilePhoneNumber: taken.mobilePhoneNumber })],
      ['a username that is a number', 217, () => newUser({ username: 7 })],
      ['a password that is a number', 218, () => newUser({ password: 7 })],
      [
        'a place off the earth',
        302,
        () => ({
          ...change({ color: 'red' }),
          where: '{"place": {"$nearSphere": {"__type": "GeoPoint", "latitude": 91, "longitude": 0}}}',
        }),
      ],
    ])('%s', async (_, code, make) => {
      const { where, ...write } = make();
      const query = where === undefined ? '' : `?where=${encodeURIComponent(where)}`;
      const alone = await master.send(write.method, `${write.path}${query}`, { body: textOf(write.body) });
      expect([alone.status, alone.body['code']]).toEqual([400, code]);

      const made = newUser({});
      const body = { ...write.body, __internalId: write.path.split('/')[3] ?? 'other' };
      const params = where === undefined ? {} : { params: { where } };
      const requests = [
        { ...made, body: { ...made.body, __internalId: 'made' } },
        { ...write, body, ...params },
      ];
      const together = await master.post('/1.1/batch/save', textOf({ requests }));
      expect([together.status, together.body]).toEqual([alone.status, alone.body]);
      expect((await master.post('/1.1/login', made.body)).body['code']).toBe(211);
    });
  });

  it('joint saves of the same names in different orders wait for each other, however many there are', async () => {
    const names = [unique('one'), unique('two')];
    const api = appClient(server());
    const saves = Array.from({ length: 16 }, (_, index) => {
      const bodies = names.map((username) => ({ username, password: 'p', __internalId: username }));
      const ordered = index % 2 === 0 ? bodies : bodies.toReversed();
      return api.post('/1.1/batch/save', {
        requests: ordered.map((body) => ({ method: 'POST', path: '/1.1/users', body })),
      });
    });
    const codes = (await Promise.all(saves)).map(({ status, body }) => body['code'] ?? status);
    expect(codes.sort()).toEqual([200, ...Array.from({ length: 15 }, () => 202)]);
  });
}
