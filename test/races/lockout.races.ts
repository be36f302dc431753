import { describe, expect } from 'vitest';
import { type ApiClient, type GatepostServer, signUp, type TestUser, unique, uniquePhone } from '#testing';
import { outcomeOf, racesOn, type Round, times, tokensOf } from './race.js';

const MANY = 100;
const JUDGED = 210;
const LOCKED = 219;
const UNAVAILABLE = 503;
/** Of seven judged the seventh locks. */
const MOST_MISMATCHES = 6;

const rightly = (api: ApiClient, { username, password }: TestUser) => api.post('/1.1/login', { username, password });
const updatePassword = (api: ApiClient, { id, session, password }: TestUser, oldPassword: string) =>
  api.put(`/1.1/users/${id}/updatePassword`, { old_password: oldPassword, new_password: password }, { session });

/** A user with an address and a number, and every door at which his password is asked for. */
async function manyDoored(round: Round): Promise<{ user: TestUser; wrongly: Wrongly }> {
  const contact = { email: `${unique('lock')}@example.com`, mobilePhoneNumber: uniquePhone() };
  const user = await signUp(round.api(), contact);
  const names = [
    { username: user.username },
    { email: contact.email },
    { mobilePhoneNumber: contact.mobilePhoneNumber },
  ];
  return {
    user,
    wrongly: (api, index) => {
      const name = names[index % (names.length + 1)];
      const by = api.acceptingUnavailable();
      return name === undefined
        ? updatePassword(by, user, 'wrong')
        : by.post('/1.1/login', { ...name, password: 'wrong' });
    },
  };
}

type Wrongly = Parameters<Round['atOnce']>[1];

/** Specification, Login lockout: no interleaving has more than seven wrong passwords of a user judged. */
export function describeLockoutRaces(server: () => GatepostServer): void {
  describe('the lockout', () => {
    const race = racesOn(server);
    const expectLocked = async (round: Round, user: TestUser) => {
      for (const gateway of [0, 1]) expect(outcomeOf(await rightly(round.api(gateway), user))).toBe(LOCKED);
      expect(outcomeOf(await updatePassword(round.api(), user, user.password))).toBe(LOCKED);
    };

    race(`has at most seven of ${MANY} wrong passwords judged, over all doors`, async (round) => {
      const { user, wrongly } = await manyDoored(round);
      const outcomes = (await round.atOnce(MANY, wrongly)).map(outcomeOf);
      expect(outcomes.filter((outcome) => outcome === JUDGED).length).toBeLessThanOrEqual(MOST_MISMATCHES);
      expect(outcomes.filter((outcome) => ![JUDGED, LOCKED, UNAVAILABLE].includes(Number(outcome)))).toEqual([]);
      expect(outcomes).toContain(LOCKED);
      await expectLocked(round, user);
    });

    race('is not wiped by right passwords that come in between', async (round) => {
      const { user, wrongly } = await manyDoored(round);
      const { wrong, right } = await round.cross({
        wrong: times(MANY / 2, wrongly),
        right: times(MANY / 2, (api) => rightly(api.acceptingUnavailable(), user)),
      });
      const outcomes = wrong.map(outcomeOf);
      expect(outcomes.filter((outcome) => outcome === JUDGED).length).toBeLessThanOrEqual(MOST_MISMATCHES);
      expect(wrong.filter(({ status }) => status === 200)).toEqual([]);
      expect(right.map(outcomeOf).filter((outcome) => outcome === JUDGED)).toEqual([]);
      await expectLocked(round, user);
    });

    race('is not wiped by right passwords that come with the seventh wrong one', async (round) => {
      const { user, wrongly } = await manyDoored(round);
      for (let index = 0; index < MOST_MISMATCHES; index += 1)
        expect(outcomeOf(await wrongly(round.api(index), index))).toBe(JUDGED);
      const { wrong, changes } = await round.cross({
        wrong: times(3, (api) => api.post('/1.1/login', { username: user.username, password: 'wrong' })),
        changes: times(1, (api) => updatePassword(api, user, user.password)),
        right: times(5, (api) => rightly(api, user)),
      });
      expect(wrong.map(outcomeOf)).toEqual([LOCKED, LOCKED, LOCKED]);
      await expectLocked(round, { ...user, session: tokensOf(...changes)[0] ?? user.session });
    });

    race('lets many right ones in at the same time', async (round) => {
      const { user } = await manyDoored(round);
      const replies = await round.atOnce(30, (api) => rightly(api, user));
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    });
  });
}
