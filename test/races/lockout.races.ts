import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import {
  type ApiClient,
  type GatepostServer,
  hashedPasswords,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';
import { ALONE, outcomeOf, outcomesOf, racesOn, type Requests, type Round, times, tokensOf } from './race.js';

const MANY = 100;
const MISMATCH = 210;
const WRONG_CODE = 603;
const LOCKED = 219;
const UNAVAILABLE = 503;
const CHECKED = 7;
/** The last of seven wrong passwords locks. */
const MOST_MISMATCHES = CHECKED - 1;
const LOCK_MS = 15 * 60_000;

const rightly = (api: ApiClient, { username, password }: TestUser) => api.post('/1.1/login', { username, password });
const updatePassword = (api: ApiClient, { id, session, password }: TestUser, oldPassword: string) =>
  api.put(`/1.1/users/${id}/updatePassword`, { old_password: oldPassword, new_password: password }, { session });

/** A user with an address and a number, and every endpoint that accepts the password or a code. */
interface UserWithManyNames {
  readonly user: TestUser;
  readonly wrongly: Requests['send'];
  readonly wrongCode: Requests['send'];
}

async function withManyNames(round: Round): Promise<UserWithManyNames> {
  const contact = { email: `${unique('lock')}@example.com`, mobilePhoneNumber: uniquePhone() };
  const user = await signUp(round.api(), contact);
  const { mobilePhoneNumber } = contact;
  const names = [{ username: user.username }, { email: contact.email }, { mobilePhoneNumber }];
  return {
    user,
    wrongly: (api, index) => {
      const name = names[index % (names.length + 1)];
      const by = api.acceptingUnavailable();
      return name === undefined
        ? updatePassword(by, user, 'wrong')
        : by.post('/1.1/login', { ...name, password: 'wrong' });
    },
    wrongCode: (api, index) => {
      const path = index % 2 === 0 ? '/1.1/login' : '/1.1/usersByMobilePhone';
      return api.acceptingUnavailable().post(path, { mobilePhoneNumber, smsCode: '000000' });
    },
  };
}

/** @returns what came of it, and how many passwords all processes together compared meanwhile */
async function counted<T>({ server }: Round, run: () => Promise<T>): Promise<T & { readonly compared: number }> {
  const before = await hashedPasswords(server);
  const result = await run();
  return { ...result, compared: (await hashedPasswords(server)) - before };
}

/** Clients got six mismatches, and otherwise the lock; fewer only if some were asked to retry. */
function expectTold(outcomes: readonly unknown[]): void {
  const mismatches = outcomes.filter((outcome) => outcome === MISMATCH || outcome === WRONG_CODE);
  expect(mismatches.length, 'mismatches that were answered').toBeLessThanOrEqual(MOST_MISMATCHES);
  if (!outcomes.includes(UNAVAILABLE))
    expect(mismatches, 'mismatches that were answered').toHaveLength(MOST_MISMATCHES);
  const expected = [MISMATCH, WRONG_CODE, LOCKED, UNAVAILABLE];
  expect(outcomes.filter((outcome) => !expected.includes(Number(outcome)))).toEqual([]);
  expect(outcomes).toContain(LOCKED);
}

/** Seven wrong passwords were checked, regardless of the answers; fewer only if some clients were asked to retry. */
function expectChecked(checked: number, outcomes: readonly unknown[]): void {
  expect(checked, 'wrong passwords that were checked').toBeLessThanOrEqual(CHECKED);
  if (!outcomes.includes(UNAVAILABLE)) expect(checked, 'wrong passwords that were checked').toBe(CHECKED);
}

/** The lock is stored, and nothing besides it. A server without access to its store is checked by its answers alone. */
async function expectLockStored({ server: { app, env } }: Round, { id }: TestUser): Promise<void> {
  const { REDIS_URL: url, GATEPOST_NAMESPACE: namespace = '' } = env;
  if (url === undefined) return;
  const redis = new Redis(url);
  try {
    const remainingMs = Number(await redis.zscore(`${namespace}:lockout:locks:{${app.id}}`, id)) - Date.now();
    expect(remainingMs, 'the rest of the lock').toBeGreaterThan(LOCK_MS / 2);
    expect(remainingMs, 'the rest of the lock').toBeLessThanOrEqual(LOCK_MS);
    const rest = ['failures', 'reservations'].map((kind) => `${namespace}:lockout:${kind}:{${app.id}}:${id}`);
    expect(await redis.exists(...rest), 'failures and reservations that are left').toBe(0);
  } finally {
    redis.disconnect();
  }
}

async function expectLocked(round: Round, user: TestUser): Promise<void> {
  for (const gateway of [0, 1]) expect(outcomeOf(await rightly(round.api(gateway), user))).toBe(LOCKED);
  expect(outcomeOf(await updatePassword(round.api(), user, user.password))).toBe(LOCKED);
  await expectLockStored(round, user);
}

/** Specification, Login lockout: no interleaving lets the server check more than seven wrong passwords of a user. */
export function describeLockoutRaces(server: () => GatepostServer): void {
  describe('the lockout', () => {
    const race = racesOn(server);

    const sevenOfMany = async (round: Round) => {
      const { user, wrongly } = await withManyNames(round);
      const { wrong, compared } = await counted(round, () => round.cross({ wrong: times(MANY, wrongly) }));
      const outcomes = outcomesOf(wrong);
      expectChecked(compared, outcomes);
      expectTold(outcomes);
      await expectLocked(round, user);
    };
    race(`has seven of ${MANY} wrong passwords judged, over all login methods`, sevenOfMany, ALONE);

    const betweenRightOnes = async (round: Round) => {
      const { user, wrongly } = await withManyNames(round);
      const { wrong, right, compared } = await counted(round, () =>
        round.cross({
          wrong: times(MANY / 2, wrongly),
          right: times(MANY / 2, (api) => rightly(api.acceptingUnavailable(), user)),
        }),
      );
      expectTold(outcomesOf(wrong));
      const letIn = right.map(outcomeOf).filter((outcome) => outcome !== LOCKED);
      expect(letIn.filter((outcome) => outcome !== 200 && outcome !== UNAVAILABLE)).toEqual([]);
      expectChecked(compared - letIn.length, outcomesOf([...wrong, ...right]));
      await expectLocked(round, user);
    };
    race('is not wiped by right passwords that come in between', betweenRightOnes, ALONE);

    race(`counts wrong codes of text messages with wrong passwords`, async (round) => {
      const { user, wrongly, wrongCode } = await withManyNames(round);
      const { passwords, codes } = await round.cross({
        passwords: times(MANY / 2, wrongly),
        codes: times(MANY / 2, wrongCode),
      });
      expectTold(outcomesOf([...passwords, ...codes]));
      await expectLocked(round, user);
    });

    race('is not wiped by right passwords that come with the seventh wrong one', async (round) => {
      const { user, wrongly } = await withManyNames(round);
      for (let index = 0; index < MOST_MISMATCHES; index += 1)
        expect(outcomeOf(await wrongly(round.api(index), index))).toBe(MISMATCH);
      const { wrong, changes } = await round.cross({
        wrong: times(3, (api) => api.post('/1.1/login', { username: user.username, password: 'wrong' })),
        changes: times(1, (api) => updatePassword(api, user, user.password)),
        right: times(5, (api) => rightly(api, user)),
      });
      expect(wrong.map(outcomeOf)).toEqual([LOCKED, LOCKED, LOCKED]);
      await expectLocked(round, { ...user, session: tokensOf(...changes)[0] ?? user.session });
    });

    race('lets many right ones in at the same time', async (round) => {
      const { user } = await withManyNames(round);
      const replies = await round.atOnce(30, (api) => rightly(api, user));
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    });
  });
}
