import { describe, expect } from 'vitest';
import { type ApiClient, type GatepostServer, type Json, signUp, type TestUser, unique } from '#testing';
import { outcomesOf, racesOn, repeated, type Round, times } from './race.js';

const MANY = 50;
const NOT_MET = 305;
const NAME_TAKEN = 137;
const PUBLIC = { '*': { read: true } };

const op = (__op: string, operands: Json = {}) => ({ __op, ...operands });
const update = (api: ApiClient, { id, session }: TestUser, body: Json, where?: Json) => {
  const query = where === undefined ? '' : `?where=${encodeURIComponent(JSON.stringify(where))}`;
  return api.put(`/1.1/users/${id}${query}`, body, { session });
};
const member = ({ id }: TestUser, __op = 'AddRelation') => ({
  __op,
  objects: [{ __type: 'Pointer', className: '_User', objectId: id }],
});

const expectFields = (round: Round, users: readonly TestUser[], fields: readonly Json[]) =>
  round.expectStored(
    fields.map((each) => ({ fields: each })),
    'SELECT fields FROM accounts.users WHERE app_id = $1 AND object_id = ANY($2) ORDER BY array_position($2, object_id)',
    users.map(({ id }) => id),
  );

async function createRole(round: Round): Promise<string> {
  const name = unique('role').replaceAll('-', '_');
  const { body } = await round.master().post('/1.1/roles', { name, ACL: PUBLIC });
  return String(body['objectId']);
}

const expectMembers = (round: Round, role: string, users: readonly TestUser[]) =>
  round.expectStored(
    users
      .map(({ id }) => id)
      .sort()
      .map((user) => ({ user_id: user })),
    'SELECT user_id FROM accounts.role_users WHERE app_id = $1 AND role_id = $2 ORDER BY user_id',
    role,
  );

/** No change that was acknowledged is lost, and none is half done. */
export function describeUpdateRaces(server: () => GatepostServer): void {
  describe('parallel changes', () => {
    const race = racesOn(server);

    race(`lose no operation of ${MANY}`, async (round) => {
      const user = await signUp(round.api(), { score: 1, 'stats.wins': 2, tags: [] });
      const replies = await round.atOnce(MANY, (api, index) =>
        update(api, user, {
          score: op('Increment', { amount: 1 }),
          'stats.wins': op('Decrement', { amount: 1 }),
          log: op('Add', { objects: ['x'] }),
          tags: op('AddUnique', { objects: [index % 10, 'all'] }),
          bits: op('BitOr', { value: 2 ** (index % 10) }),
        }),
      );
      expect(outcomesOf(replies)).toEqual(repeated(MANY, 200));
      const { body } = await round.api().get(`/1.1/users/${user.id}`);
      const { score, stats, log, tags, bits } = body;
      expect([score, stats, bits, log]).toEqual([1 + MANY, { wins: 2 - MANY }, 1023, repeated(MANY, 'x')]);
      expect((tags as unknown[]).map(String).sort()).toEqual([
        ...Array.from({ length: 10 }, (_, digit) => String(digit)),
        'all',
      ]);
      await expectFields(round, [user], [{ score, stats, log, tags, bits }]);
    });

    race(`lose no field of ${MANY}, and distinguish them by their times`, async (round) => {
      const user = await signUp(round.api());
      const replies = await round.atOnce(MANY, (api, index) => update(api, user, { [`field${index}`]: index }));
      expect(outcomesOf(replies)).toEqual(repeated(MANY, 200));
      const moments = replies.map((reply) => String(reply.body['updatedAt'])).sort();
      expect(new Set(moments).size).toBe(MANY);
      const { body } = await round.api().get(`/1.1/users/${user.id}`);
      expect(body['updatedAt']).toBe(moments.at(-1));
      await expectFields(round, [user], [Object.fromEntries(moments.map((_, index) => [`field${index}`, index]))]);
    });

    race('with a condition are done as often as it is met', async (round) => {
      const balance = 7;
      const user = await signUp(round.api(), { balance });
      const replies = await round.atOnce(20, (api) =>
        update(api, user, { balance: op('Decrement', { amount: 1 }) }, { balance: { $gte: 1 } }),
      );
      expect(outcomesOf(replies)).toEqual([...repeated(balance, 200), ...repeated(20 - balance, NOT_MET)]);
      expect((await round.api().get(`/1.1/users/${user.id}`)).body['balance']).toBe(0);
      await expectFields(round, [user], [{ balance: 0 }]);
    });

    race('of several users together are all done or none, whatever their order', async (round) => {
      const users = [await signUp(round.api(), { sum: 0, left: 5 }), await signUp(round.api(), { sum: 0, left: 5 })];
      const move = (user: TestUser) => ({
        method: 'PUT',
        path: `/1.1/users/${user.id}`,
        body: { sum: op('Increment', { amount: 1 }), left: op('Decrement', { amount: 1 }), __internalId: user.id },
        params: { where: { left: { $gte: 1 } } },
      });
      const { joint, single } = await round.cross({
        joint: times(10, (api, index) => {
          const requests = (index % 2 === 0 ? users : [...users].reverse()).map(move);
          return round.master(api).post('/1.1/batch/save', { requests });
        }),
        single: times(4, (api, index) => {
          const step = { sum: op('Increment', { amount: 1 }), left: op('Decrement', { amount: 1 }) };
          return update(api, users[index % 2]!, step, { left: { $gte: 1 } });
        }),
      });
      const done = joint.filter(({ status }) => status === 200).length;
      const sums = users.map((_, user) => done + single.filter((r, i) => i % 2 === user && r.status === 200).length);
      for (const { body } of [...joint, ...single].filter(({ status }) => status !== 200))
        expect(body['code']).toBe(NOT_MET);
      expect(Math.max(...sums)).toBe(5);
      const expected = sums.map((sum) => ({ sum, left: 5 - sum }));
      for (const [index, { id }] of users.entries())
        expect((await round.api().get(`/1.1/users/${id}`)).body).toMatchObject(expected[index]!);
      await expectFields(round, users, expected);
    });
  });

  describe('parallel changes of roles', () => {
    const race = racesOn(server);

    race('make one role of a name', async (round) => {
      const name = unique('role').replaceAll('-', '_');
      const replies = await round.atOnce(20, (api) => round.master(api).post('/1.1/roles', { name, ACL: PUBLIC }));
      expect(outcomesOf(replies)).toEqual([...repeated(19, NAME_TAKEN), 201]);
      await round.expectStored(
        [{ roles: 1 }],
        'SELECT count(*)::int AS roles FROM accounts.roles WHERE app_id = $1 AND name = $2',
        name,
      );
    });

    race('lose no member, and keep none that was taken out', async (round) => {
      const [role, staying, leaving] = [
        await createRole(round),
        await Promise.all(Array.from({ length: 5 }, () => signUp(round.api()))),
        await Promise.all(Array.from({ length: 5 }, () => signUp(round.api()))),
      ];
      const path = `/1.1/roles/${role}`;
      const all = { __op: 'AddRelation', objects: leaving.flatMap((user) => member(user).objects) };
      expect((await round.master().put(path, { users: all })).status).toBe(200);
      const { added, removed } = await round.cross({
        added: times(10, (api, index) => round.master(api).put(path, { users: member(staying[index % 5]!) })),
        removed: times(5, (api, index) =>
          round.master(api).put(path, { users: member(leaving[index]!, 'RemoveRelation') }),
        ),
      });
      expect(outcomesOf([...added, ...removed])).toEqual(repeated(15, 200));
      await expectMembers(round, role, staying);
    });

    race('leave no role to a user who is deleted at the same time', async (round) => {
      const [role, user] = [await createRole(round), await signUp(round.api())];
      const { added, removed } = await round.cross({
        added: times(5, (api) => round.master(api).put(`/1.1/roles/${role}`, { users: member(user) })),
        removed: times(1, (api) => api.delete(`/1.1/users/${user.id}`, { session: user.session })),
      });
      expect(outcomesOf(removed)).toEqual([200]);
      expect(outcomesOf(added).filter((outcome) => ![200, 128].includes(Number(outcome)))).toEqual([]);
      await expectMembers(round, role, []);
    });
  });
}
