import { describe, expect } from 'vitest';
import { type ApiReply, type GatepostServer, type Json, signUp, unique, uniquePhone } from '#testing';
import {
  authDataOf,
  change,
  enter,
  openidEntry,
  ownerOf,
  signUpBy,
  uidEntry,
  withUnionId,
} from '../journeys/suites/third-party-accounts.js';
import { ALONE, outcomesOf, racesOn, repeated, type Round, times } from './race.js';

const MANY = 50;
const SEVERAL = 20;
const FEW = 10;
const TAKEN = 208;
const NO_SESSION = 206;

const distinct = (replies: readonly ApiReply[], field: string) => new Set(replies.map(({ body }) => body[field])).size;
const refused = (replies: readonly ApiReply[]) => replies.filter(({ status }) => status >= 400);
const idOf = (reply: ApiReply | undefined) => reply?.body['objectId'];

/** One of the replies made the user, and all of them let the same one in. */
function expectOneUser(replies: readonly ApiReply[]): void {
  expect(outcomesOf(replies)).toEqual([...repeated(replies.length - 1, 200), 201]);
  expect([distinct(replies, 'objectId'), distinct(replies, 'sessionToken')]).toEqual([1, 1]);
}

/** An identity has this owner, who is there, or none at all. */
const expectOwner = (round: Round, platform: string, uid: string, owner: unknown) =>
  round.expectStored(
    owner === undefined ? [] : [{ user_id: owner, object_id: owner }],
    `SELECT i.user_id, u.object_id FROM accounts.identities i
       LEFT JOIN accounts.users u ON (u.app_id, u.object_id) = (i.app_id, i.user_id)
      WHERE i.app_id = $1 AND i.platform = $2 AND i.uid = $3`,
    platform,
    uid,
  );

/** The user's identities, all of them, are those of these platforms. */
const expectPlatforms = (round: Round, userId: unknown, platforms: readonly string[]) =>
  round.expectStored(
    [...platforms].sort().map((platform) => ({ platform })),
    'SELECT platform FROM accounts.identities WHERE app_id = $1 AND user_id = $2 ORDER BY platform',
    userId,
  );

/** Architecture, promise 3: no interleaving makes two users of one identity, or of one union id. */
export function describeIdentityRaces(server: () => GatepostServer): void {
  describe('parallel logins by accounts of platforms', () => {
    const race = racesOn(server);

    race(
      `make one user of a new identity that comes ${MANY} times`,
      async (round) => {
        const { openid } = openidEntry();
        const replies = await round.atOnce(MANY, (api) => enter(api, { weixin: openidEntry(openid) }));
        expectOneUser(replies);
        expect(await authDataOf(round.server, { id: String(idOf(replies[0])) })).toMatchObject({ weixin: { openid } });
        await expectOwner(round, 'weixin', openid, idOf(replies[0]));
      },
      ALONE,
    );

    race('make one user of a new identity that comes with the same name, address and number', async (round) => {
      const entry = { github: uidEntry() };
      const fields = {
        username: unique('name'),
        email: `${unique('mail')}@example.com`,
        mobilePhoneNumber: uniquePhone(),
      };
      expectOneUser(await round.atOnce(FEW, (api) => enter(api, entry, fields)));
    });

    race(
      `make one user of a union id that comes by ${MANY} accounts`,
      async (round) => {
        const unionid = unique('union');
        const entries = Array.from({ length: MANY }, () => withUnionId(openidEntry(), unionid, true));
        const replies = await round.atOnce(MANY, (api, index) => enter(api, { weixin: entries[index] }));
        expectOneUser(replies);
        // One of them is the account that is linked now; the union id finds the user for all of them.
        const authData = (await authDataOf(round.server, { id: String(idOf(replies[0])) })) as Json;
        expect([authData['_weixin_unionid'], entries]).toEqual([
          { uid: unionid },
          expect.arrayContaining([authData['weixin']]),
        ]);
        await expectOwner(round, '_weixin_unionid', unionid, idOf(replies[0]));
        await expectPlatforms(round, idOf(replies[0]), ['_weixin_unionid', 'weixin']);
      },
      ALONE,
    );

    race('make one user of two identities that come crosswise', async (round) => {
      const [github, gitlab] = [uidEntry(), uidEntry()];
      const replies = await round.atOnce(SEVERAL, (api, index) =>
        enter(api, index % 2 === 0 ? { github, gitlab } : { gitlab, github }),
      );
      expectOneUser(replies);
      await expectOwner(round, 'github', github.uid, idOf(replies[0]));
      await expectOwner(round, 'gitlab', gitlab.uid, idOf(replies[0]));
    });

    race('store one of the tokens, and lose no platform that is added', async (round) => {
      const { uid } = uidEntry();
      const user = await signUpBy(round.api(), { github: uidEntry(uid) });
      const tokens = Array.from({ length: FEW }, () => uidEntry(uid));
      const { logins, links } = await round.cross({
        logins: times(FEW, (api, index) => enter(api, { github: tokens[index] })),
        links: times(FEW, (api, index) => change(api, user, { authData: { [`shop${index}`]: uidEntry() } })),
      });
      expect(outcomesOf([...logins, ...links])).toEqual(repeated(2 * FEW, 200));
      expect(distinct(logins, 'sessionToken')).toBe(1);
      const authData = (await authDataOf(round.server, user)) as Json;
      expect(tokens).toContainEqual(authData['github']);
      await expectPlatforms(round, user.id, Object.keys(authData));
      expect(Object.keys(authData)).toHaveLength(1 + FEW);
    });
  });

  describe('an identity', () => {
    const race = racesOn(server);

    race('is linked to one of many users', async (round) => {
      const users = await Promise.all(Array.from({ length: FEW }, () => signUp(round.api())));
      const github = uidEntry();
      const replies = await round.atOnce(FEW, (api, index) => change(api, users[index]!, { authData: { github } }));
      expect(outcomesOf(replies)).toEqual([200, ...repeated(FEW - 1, TAKEN)].sort((a, b) => Number(a) - Number(b)));
      const winner = users[replies.findIndex(({ status }) => status === 200)];
      expect(await ownerOf(round.api(1), { github })).toBe(winner?.id);
      await expectOwner(round, 'github', github.uid, winner?.id);
      for (const user of users) await expectPlatforms(round, user.id, user === winner ? ['github'] : []);
    });

    race('that is linked to a user while the user is deleted stays unlinked', async (round) => {
      const user = await signUp(round.api());
      const github = uidEntry();
      const { links, deletions } = await round.cross({
        links: times(3, (api) => change(api, user, { authData: { github } })),
        deletions: times(1, (api) => api.delete(`/1.1/users/${user.id}`, { session: user.session })),
      });
      expect(outcomesOf(deletions)).toEqual([200]);
      expect(outcomesOf(links).filter((outcome) => outcome !== 200 && outcome !== NO_SESSION)).toEqual([]);
      expect(await ownerOf(round.api(), { github })).toBeUndefined();
      await expectOwner(round, 'github', github.uid, undefined);
    });

    race('of a user who is deleted lets him in, or one new user', async (round) => {
      const github = uidEntry();
      const user = await signUpBy(round.api(), { github });
      const { logins, deletions } = await round.cross({
        logins: times(FEW, (api) => enter(api, { github })),
        deletions: times(1, (api) => round.master(api).delete(`/1.1/users/${user.id}`)),
      });
      expect(outcomesOf(deletions)).toEqual([200]);
      expect(refused(logins)).toEqual([]);
      const made = logins.filter(({ status }) => status === 201);
      expect(made.length).toBeLessThanOrEqual(1);
      const others = logins.filter((reply) => idOf(reply) !== user.id);
      for (const reply of others) expect(idOf(reply)).toBe(idOf(made[0]));
      await expectOwner(round, 'github', github.uid, idOf(made[0]));
      expect(await round.goodOf([user.session])).toEqual([]);
    });

    race('that is unlinked goes to one new user', async (round) => {
      const [github, qq] = [uidEntry(), openidEntry()];
      const user = await signUpBy(round.api(), { github, qq });
      const { unlinked, logins } = await round.cross({
        unlinked: times(1, (api) => change(api, user, { 'authData.github': { __op: 'Delete' } })),
        logins: times(FEW, (api) => enter(api, { github })),
      });
      expect(outcomesOf(unlinked)).toEqual([200]);
      expect(refused(logins)).toEqual([]);
      const made = logins.filter(({ status }) => status === 201);
      expect(made.length).toBeLessThanOrEqual(1);
      expect(await authDataOf(round.server, user)).toEqual({ qq });
      await expectPlatforms(round, user.id, ['qq']);
      await expectOwner(round, 'github', github.uid, idOf(made[0]));
    });

    race('goes with its user: two who swap theirs end with one each, or keep their own', async (round) => {
      const [one, other] = [uidEntry(), uidEntry()];
      const users = [await signUpBy(round.api(), { github: one }), await signUpBy(round.api(), { github: other })];
      const replies = await round.atOnce(6, (api, index) =>
        change(api, users[index % 2]!, { authData: { github: index % 2 === 0 ? other : one } }),
      );
      expect(outcomesOf(replies)).toEqual(repeated(6, TAKEN));
      await expectOwner(round, 'github', one.uid, users[0]?.id);
      await expectOwner(round, 'github', other.uid, users[1]?.id);
    });
  });
}
