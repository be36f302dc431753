import { beforeAll, describe, expect } from 'vitest';
import {
  type ApiClient,
  type AppKeys,
  createApplication,
  type GatepostServer,
  type Json,
  signUp,
  type TestUser,
  unique,
} from '#testing';
import { changeSettings } from '../journeys/suites/email-client.js';
import { outcomesOf, racesOn, repeated, type Round } from './race.js';

const PUBLIC = { '*': { read: true } };
const NAME_TAKEN = 137;
const USERNAME_TAKEN = 202;

interface Write {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body: Json;
}

const newName = () => unique('role').replaceAll('-', '_');
const joining = (className: string, objectId: string) => ({
  __op: 'AddRelation',
  objects: [{ __type: 'Pointer', className, objectId }],
});
const save = (master: ApiClient, writes: readonly Write[]) => {
  const requests = writes.map(({ body, ...write }) => ({ ...write, body: { __internalId: unique('id'), ...body } }));
  return master.post('/1.1/batch/save', { requests });
};
/** Two joint saves at once: the second has its writes in the opposite order. */
const inBothOrders = (round: Round, writesOf: (save: number) => readonly Write[]) =>
  round.atOnce(2, (api, index) => {
    const writes = writesOf(index);
    return save(round.master(api), index === 0 ? writes : [...writes].reverse());
  });

const createUser = (username: string, fields: Json = {}): Write => ({
  method: 'POST',
  path: '/1.1/users',
  body: { username, password: 'p', ...fields },
});
const changeUser = ({ id }: TestUser, body: Json): Write => ({ method: 'PUT', path: `/1.1/users/${id}`, body });

async function createRole(round: Round): Promise<string> {
  const { body } = await round.master().post('/1.1/roles', { name: newName(), ACL: PUBLIC });
  return String(body['objectId']);
}

async function two<T>(create: () => Promise<T>): Promise<readonly [T, T]> {
  return [await create(), await create()];
}

/** Requests that need the same rows in opposite orders: PostgreSQL ends one of two that wait for each other, and no client shall see it. */
export function describeJointSaveRaces(server: () => GatepostServer): void {
  describe('writes that cross', () => {
    const race = racesOn(server);

    race('change users and roles that the other one refers to', async (round) => {
      const users = await two(() => signUp(round.api()));
      const roles = await two(() => createRole(round));
      const replies = await round.atOnce(2, (api, index) =>
        save(round.master(api), [
          changeUser(users[index]!, { level: index }),
          {
            method: 'PUT',
            path: `/1.1/roles/${roles[index]}`,
            body: { users: joining('_User', users[1 - index]!.id) },
          },
        ]),
      );
      expect(outcomesOf(replies)).toEqual([200, 200]);
      await round.expectStored(
        [{ user_id: users[1].id }, { user_id: users[0].id }],
        'SELECT user_id FROM accounts.role_users WHERE app_id = $1 AND role_id = ANY($2) ORDER BY array_position($2, role_id)',
        roles,
      );
    });

    race('make each of two roles a member of the other', async (round) => {
      const roles = await two(() => createRole(round));
      const replies = await round.atOnce(2, (api, index) =>
        round.master(api).put(`/1.1/roles/${roles[index]}`, { roles: joining('_Role', roles[1 - index]!) }),
      );
      expect(outcomesOf(replies)).toEqual([200, 200]);
      await round.expectStored(
        [{ child_id: roles[1] }, { child_id: roles[0] }],
        'SELECT child_id FROM accounts.role_children WHERE app_id = $1 AND role_id = ANY($2) ORDER BY array_position($2, role_id)',
        roles,
      );
    });

    race('rename users while a role takes both in', async (round) => {
      const users = await two(() => signUp(round.api()));
      const role = await createRole(round);
      const objects = users.flatMap(({ id }) => joining('_User', id).objects);
      const renaming = [...users].sort((one, other) => (one.id < other.id ? 1 : -1));
      const replies = await round.atOnce(2, (api, index) =>
        index === 0
          ? save(
              round.master(api),
              renaming.map((user) => changeUser(user, { username: unique('renamed') })),
            )
          : round.master(api).put(`/1.1/roles/${role}`, { users: { __op: 'AddRelation', objects } }),
      );
      expect(outcomesOf(replies)).toEqual([200, 200]);
    });

    race('create users of the same two names', async (round) => {
      const names = [unique('one'), unique('two')];
      const replies = await inBothOrders(round, () => names.map((name) => createUser(name)));
      expect(outcomesOf(replies)).toEqual([200, USERNAME_TAKEN]);
      await round.expectStored(
        [{ users: 2 }],
        'SELECT count(*)::int AS users FROM accounts.users WHERE app_id = $1 AND username = ANY($2)',
        names,
      );
    });

    race('create roles of the same two names', async (round) => {
      const names = [newName(), newName()];
      const replies = await inBothOrders(round, () =>
        names.map((name) => ({ method: 'POST', path: '/1.1/roles', body: { name, ACL: PUBLIC } })),
      );
      expect(outcomesOf(replies)).toEqual([NAME_TAKEN, 200]);
      await round.expectStored(
        [{ roles: 2 }],
        'SELECT count(*)::int AS roles FROM accounts.roles WHERE app_id = $1 AND name = ANY($2)',
        names,
      );
    });

    race('give the same two names to users who are there', async (round) => {
      const names = [unique('one'), unique('two')];
      const pairs = [await two(() => signUp(round.api())), await two(() => signUp(round.api()))];
      const replies = await inBothOrders(round, (pair) =>
        names.map((username, index) => changeUser(pairs[pair]![index]!, { username })),
      );
      expect(outcomesOf(replies)).toEqual([200, USERNAME_TAKEN]);
    });

    race('give each of two users the name of the other', async (round) => {
      const users = await two(() => signUp(round.api()));
      const replies = await round.atOnce(2, (api, index) => {
        const { id, session } = users[index]!;
        return api.put(`/1.1/users/${id}`, { username: users[1 - index]!.username }, { session });
      });
      expect(outcomesOf(replies)).toEqual(repeated(2, USERNAME_TAKEN));
    });
  });

  describe('writes that cross, with mails to the same mailboxes', () => {
    let app: AppKeys;
    const race = racesOn(() => ({ ...server(), app }));

    beforeAll(async () => {
      app = await createApplication(server());
      await changeSettings(server(), app, { verifyEmailOnSignUp: 'true' });
    });

    race('create users', async (round) => {
      const mailboxes = [unique('one'), unique('two')];
      const replies = await inBothOrders(round, (tag) =>
        mailboxes.map((mailbox) => createUser(unique('mailed'), { email: `${mailbox}+${tag}@example.com` })),
      );
      expect(outcomesOf(replies)).toEqual([200, 200]);
      await round.expectStored(
        [{ mails: 2 }, { mails: 2 }],
        'SELECT cardinality(sent_at) AS mails FROM accounts.mail_allowances WHERE app_id = $1 AND mailbox = ANY($2)',
        mailboxes.map((mailbox) => `${mailbox}@example.com`),
      );
    });
  });
}
