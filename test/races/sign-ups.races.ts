import { describe, expect } from 'vitest';
import { type GatepostServer, type Json, signUp, unique, uniquePhone } from '#testing';
import { ALONE, outcomesOf, racesOn, repeated, type Round, times } from './race.js';

const MANY = 50;
const SEVERAL = 20;

const newAccount = (fields: Json = {}) => ({ username: unique('racer'), password: 'p', ...fields });
const newEmail = () => `${unique('race')}@example.com`;

/** Unique fields of a user: new values, in all spellings, and the refusal of all other users. */
const UNIQUE_FIELDS = [
  { field: 'username', column: 'username', taken: 202, forms: (): [string, string] => same(unique('race')) },
  { field: 'email', column: 'email', taken: 203, forms: (): [string, string] => same(newEmail()) },
  { field: 'mobilePhoneNumber', column: 'mobile_phone_number', taken: 214, forms: twoForms },
];

/** A number in China may come without its prefix. */
function twoForms(): [string, string] {
  const number = uniquePhone();
  return [number, number.slice(3)];
}

function same(value: string): [string, string] {
  return [value, value];
}

const expectOneUser = (round: Round, column: string, value: unknown) =>
  round.expectStored(
    [{ users: 1 }],
    `SELECT count(*)::int AS users FROM accounts.users WHERE app_id = $1 AND ${column} = $2`,
    value,
  );

/** Architecture, promise 3: no interleaving makes two users with one username, e-mail address or phone number. */
export function describeSignUpRaces(server: () => GatepostServer): void {
  describe.each(UNIQUE_FIELDS)('one user for each $field', ({ field, column, taken, forms }) => {
    const race = racesOn(server);

    race(
      `of ${MANY} sign-ups`,
      async (round) => {
        const [stored, other] = forms();
        const replies = await round.atOnce(MANY, (api, index) =>
          api.post('/1.1/users', newAccount({ [field]: index % 2 === 0 ? stored : other })),
        );
        expect(outcomesOf(replies)).toEqual([201, ...repeated(MANY - 1, taken)]);
        await expectOneUser(round, column, stored);
      },
      ALONE,
    );

    race('of sign-ups and of changes of users who are there', async (round) => {
      const [stored, other] = forms();
      const users = await Promise.all(Array.from({ length: 5 }, () => signUp(round.api())));
      const { changes, signUps } = await round.cross({
        changes: times(users.length, (api, index) => {
          const { id, session } = users[index]!;
          return api.put(`/1.1/users/${id}`, { [field]: stored }, { session });
        }),
        signUps: times(5, (api) => api.post('/1.1/users', newAccount({ [field]: other }))),
      });
      const winners = [...changes, ...signUps].filter(({ status }) => status < 400);
      expect(winners).toHaveLength(1);
      const losers = [...changes, ...signUps].filter(({ status }) => status >= 400);
      expect(outcomesOf(losers)).toEqual(repeated(9, taken));
      await expectOneUser(round, column, stored);
    });
  });

  describe('one user', () => {
    const race = racesOn(server);

    race('where each sign-up shares something with every other, crosswise', async (round) => {
      const [username, email, mobilePhoneNumber] = [unique('cross'), newEmail(), uniquePhone()];
      const shared = [
        { username, email },
        { mobilePhoneNumber, email },
        { username, mobilePhoneNumber },
      ];
      const replies = await round.atOnce(SEVERAL, (api, index) =>
        api.post('/1.1/users', newAccount(shared[index % shared.length])),
      );
      expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
      await round.expectStored(
        [{ users: 1 }],
        `SELECT count(*)::int AS users FROM accounts.users
          WHERE app_id = $1 AND (username = $2 OR email = $3 OR mobile_phone_number = $4)`,
        username,
        email,
        mobilePhoneNumber,
      );
    });

    race('at most with a name that is deleted and taken at the same time', async (round) => {
      const user = await signUp(round.api());
      const { signUps, deletions } = await round.cross({
        signUps: times(SEVERAL, (api) => api.post('/1.1/users', newAccount({ username: user.username }))),
        deletions: times(3, (api) => api.delete(`/1.1/users/${user.id}`, { session: user.session })),
      });
      const made = signUps.filter(({ status }) => status === 201);
      expect(made.length).toBeLessThanOrEqual(1);
      expect(outcomesOf(deletions)).toEqual([200, 206, 206]);
      await round.expectStored(
        made.map(({ body }) => ({ object_id: body['objectId'] })),
        'SELECT object_id FROM accounts.users WHERE app_id = $1 AND username = $2',
        user.username,
      );
    });
  });
}
