import { describe, expect } from 'vitest';
import { type ApiClient, type ApiReply, type GatepostServer, signUp, type TestUser } from '#testing';
import { EmailClient } from '../journeys/suites/email-client.js';
import { outcomesOf, racesOn, repeated, type Round, times, tokensOf } from './race.js';

const MANY = 20;
const NO_SESSION = 206;
const MISMATCH = 210;
const LINK_EXPIRED = 1;
const NO_USER = 211;
/** Together with a lost change they stay below the lockout's seven. */
const FEW_LOGINS = 5;

const logIn = (api: ApiClient, { username }: TestUser, password: string) =>
  api.post('/1.1/login', { username, password });
const updatePassword = (api: ApiClient, { id, session, password }: TestUser, newPassword: string) =>
  api.put(`/1.1/users/${id}/updatePassword`, { old_password: password, new_password: newPassword }, { session });
const write = (api: ApiClient, { id, session }: TestUser, index: number) =>
  api.put(`/1.1/users/${id}`, { [`field${index}`]: index }, { session });
const others = (replies: readonly ApiReply[], ...expected: unknown[]) =>
  outcomesOf(replies).filter((outcome) => !expected.includes(outcome));

/** The user's row is there, or is not. */
const expectUsers = (round: Round, { id }: TestUser, users: number) =>
  round.expectStored(
    [{ users }],
    'SELECT count(*)::int AS users FROM accounts.users WHERE app_id = $1 AND object_id = $2',
    id,
  );

/** Of these session tokens that one is good, for reading and for writing, and no other. */
async function expectOnlyToken(round: Round, user: TestUser, tokens: readonly string[], good: string): Promise<void> {
  expect(await round.goodOf([...tokens, good])).toEqual([good]);
  for (const session of new Set([...tokens, good])) {
    const expected = session === good ? 200 : NO_SESSION;
    expect(outcomesOf([await write(round.api(1), { ...user, session }, 0)])).toEqual([expected]);
  }
}

/** The writes that were answered well are stored, the others are not. */
async function expectAcknowledged(round: Round, user: TestUser, writes: readonly ApiReply[]): Promise<void> {
  const fields = Object.fromEntries(writes.flatMap(({ status }, i) => (status === 200 ? [[`field${i}`, i]] : [])));
  await round.expectStored(
    [{ fields }],
    'SELECT fields FROM accounts.users WHERE app_id = $1 AND object_id = $2',
    user.id,
  );
}

async function linkToReset(round: Round): Promise<{ user: TestUser; client: EmailClient; token: string }> {
  const client = new EmailClient(round.server);
  const user = await client.signUp();
  return { user, client, token: (await client.linkBy('requestPasswordReset')).token };
}

/** Architecture, promise 3: no interleaving leaves an outdated token valid. */
export function describeTokenRaces(server: () => GatepostServer): void {
  describe('exactly the session token that should be good is good after', () => {
    const race = racesOn(server);

    race('many refreshes, logins and reads at once', async (round) => {
      const user = await signUp(round.api());
      const path = `/1.1/users/${user.id}/refreshSessionToken`;
      const { owner, master, logins } = await round.cross({
        owner: times(MANY / 2, (api) => api.put(path, {}, { session: user.session })),
        master: times(MANY / 2, (api) => round.master(api).put(path)),
        logins: times(MANY / 4, (api) => logIn(api, user, user.password)),
        reads: times(MANY / 4, (api) => api.get('/1.1/users/me', { session: user.session })),
      });
      expect(others(owner, 200, NO_SESSION)).toEqual([]);
      expect(outcomesOf(master)).toEqual(repeated(MANY / 2, 200));
      const refreshed = tokensOf(...owner, ...master);
      expect(new Set(refreshed).size).toBe(refreshed.length);
      expect([user.session, ...refreshed]).toEqual(expect.arrayContaining(tokensOf(...logins)));
      const [last = ''] = tokensOf(await logIn(round.api(), user, user.password));
      await expectOnlyToken(round, user, [user.session, ...refreshed], last);
    });

    race('a refresh during writes; what was acknowledged is stored, what was refused is not', async (round) => {
      const user = await signUp(round.api());
      const path = `/1.1/users/${user.id}/refreshSessionToken`;
      const { refreshes, writes } = await round.cross({
        refreshes: times(1, (api) => api.put(path, {}, { session: user.session })),
        writes: times(MANY, (api, index) => write(api, user, index)),
      });
      expect(others(writes, 200, NO_SESSION)).toEqual([]);
      await expectAcknowledged(round, user, writes);
      await expectOnlyToken(round, user, [user.session], tokensOf(...refreshes)[0]!);
    });

    race('changes of the password during logins', async (round) => {
      const user = await signUp(round.api());
      const passwords = ['first new', 'second new'];
      const { changes, logins } = await round.cross({
        changes: times(2, (api, index) => updatePassword(api, user, passwords[index]!)),
        logins: times(FEW_LOGINS, (api) => logIn(api, user, user.password)),
      });
      expect(outcomesOf(changes)[0]).toBe(200);
      expect([MISMATCH, NO_SESSION]).toContain(outcomesOf(changes)[1]);
      expect(others(logins, 200, MISMATCH)).toEqual([]);
      round.endedIn(...outcomesOf(logins));
      const winner = changes.findIndex(({ status }) => status === 200);
      const [good = ''] = tokensOf(changes[winner]!);
      expect(tokensOf(await logIn(round.api(), user, passwords[winner]!))).toEqual([good]);
      await expectOnlyToken(round, user, [user.session, ...tokensOf(...logins)], good);
    });

    race('many changes of the password at once: one is done', async (round) => {
      const user = await signUp(round.api());
      const changes = await round.atOnce(MANY / 2, (api, index) => updatePassword(api, user, `new ${index}`));
      const winner = changes.findIndex(({ status }) => status === 200);
      expect(changes.filter(({ status }) => status === 200)).toHaveLength(1);
      const [good = ''] = tokensOf(changes[winner]!);
      await expectOnlyToken(round, user, [user.session], good);
    });

    race('a password that is set by an update during logins with it', async (round) => {
      const user = await signUp(round.api());
      const { changes, logins } = await round.cross({
        changes: times(1, (api) => api.put(`/1.1/users/${user.id}`, { password: 'new' }, { session: user.session })),
        logins: times(FEW_LOGINS, (api, index) => logIn(api, user, index % 2 === 0 ? 'new' : user.password)),
      });
      expect(outcomesOf(changes)).toEqual([200]);
      const [good = ''] = tokensOf(await logIn(round.api(), user, 'new'));
      const given = tokensOf(...changes, ...logins);
      expect([user.session, good]).toEqual(expect.arrayContaining(given));
      await expectOnlyToken(round, user, [user.session], good);
    });

    race('a reset of the password during logins', async (round) => {
      const { user, client, token } = await linkToReset(round);
      const { resets, logins } = await round.cross({
        resets: times(1, () => client.reset(token, 'new', 1)),
        logins: times(FEW_LOGINS, (api) => logIn(api, user, user.password)),
      });
      expect(outcomesOf(resets)).toEqual([200]);
      expect(others(logins, 200, MISMATCH)).toEqual([]);
      round.endedIn(...outcomesOf(logins));
      expect(outcomesOf([await logIn(round.api(), user, user.password)])).toEqual([MISMATCH]);
      const [good = ''] = tokensOf(await logIn(round.api(), user, 'new'));
      await expectOnlyToken(round, user, [user.session, ...tokensOf(...logins)], good);
    });

    race('a reset of the password and a change of it: one of them is done', async (round) => {
      const { user, client, token } = await linkToReset(round);
      const { resets, changes } = await round.cross({
        resets: times(1, () => client.reset(token, 'reset', 1)),
        changes: times(1, (api) => updatePassword(api, user, 'changed')),
      });
      const outcome = [...outcomesOf(resets), ...outcomesOf(changes)];
      expect([
        [200, NO_SESSION],
        [200, MISMATCH],
        [LINK_EXPIRED, 200],
      ]).toContainEqual(outcome);
      const [right, wrong] = outcome[0] === 200 ? ['reset', 'changed'] : ['changed', 'reset'];
      round.endedIn(right);
      expect(outcomesOf([await logIn(round.api(), user, wrong)])).toEqual([MISMATCH]);
      const [good = ''] = tokensOf(await logIn(round.api(), user, right));
      await expectOnlyToken(round, user, [user.session], good);
    });

    race('a deletion during logins: none', async (round) => {
      const user = await signUp(round.api());
      const { deletions, logins } = await round.cross({
        deletions: times(1, (api) => api.delete(`/1.1/users/${user.id}`, { session: user.session })),
        logins: times(MANY / 2, (api) => logIn(api, user, user.password)),
      });
      expect(outcomesOf(deletions)).toEqual([200]);
      expect(others(logins, 200, NO_USER)).toEqual([]);
      round.endedIn(...outcomesOf(logins));
      expect(await round.goodOf([user.session, ...tokensOf(...logins)])).toEqual([]);
      await expectUsers(round, user, 0);
    });

    race('deletions during updates and refreshes: one deletes, none is good', async (round) => {
      const user = await signUp(round.api());
      const path = `/1.1/users/${user.id}`;
      const { deletions, writes, refreshes } = await round.cross({
        deletions: times(2, (api) => round.master(api).delete(path)),
        writes: times(MANY / 2, (api, index) => write(api, user, index)),
        refreshes: times(2, (api) => api.put(`${path}/refreshSessionToken`, {}, { session: user.session })),
      });
      expect(outcomesOf(deletions)).toEqual([200, NO_USER]);
      expect(others([...writes, ...refreshes], 200, NO_SESSION)).toEqual([]);
      expect(await round.goodOf([user.session, ...tokensOf(...refreshes)])).toEqual([]);
      await expectUsers(round, user, 0);
    });
  });
}
