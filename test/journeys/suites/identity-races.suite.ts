import { beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiClient,
  type ApiReply,
  appClient,
  countUsers,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  unique,
} from '#testing';
import {
  authDataOf,
  change,
  enter,
  openidEntry,
  ownerOf,
  signUpBy,
  uidEntry,
  withUnionId,
} from './third-party-accounts.js';

const ROUNDS = [1, 2, 3, 4, 5];
const MANY = 50;
const SEVERAL = 30;
const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const statusOf = ({ status }: ApiReply) => status;
const codeOf = ({ status, body }: ApiReply) => (status < 400 ? status : body['code']);
const distinct = (replies: readonly ApiReply[], field: string) => new Set(replies.map(({ body }) => body[field])).size;

/** Architecture, Promises: no interleaving of parallel requests makes two users of one identity, or of one union id. */
export function describeIdentityRaces(server: () => GatepostServer): void {
  describe('parallel requests over all gateways', () => {
    let api: ApiClient;
    const by = (gateway: number) => appClient(server(), gateway);
    const sorted = (replies: readonly ApiReply[]) => replies.map(codeOf).sort();

    beforeAll(() => {
      api = appClient(server());
    });

    it.each(ROUNDS)('make one user of a new identity that comes 50 times at once (round %d)', async () => {
      const before = Number(await countUsers(server()));
      const { openid } = openidEntry();
      const replies = await times(MANY, (index) => enter(by(index), { weixin: openidEntry(openid) }));
      expect(replies.map(statusOf).sort()).toEqual([...Array.from({ length: MANY - 1 }, () => 200), 201]);
      expect([distinct(replies, 'objectId'), distinct(replies, 'sessionToken')]).toEqual([1, 1]);
      expect(await countUsers(server())).toBe(before + 1);
      const { body } = await api.get('/1.1/users/me', { session: String(replies[0]?.body['sessionToken']) });
      expect(body['authData']).toMatchObject({ weixin: { openid } });
    });

    it.each(ROUNDS)('make one user of a union id that comes by 30 accounts at once (round %d)', async () => {
      const before = Number(await countUsers(server()));
      const unionid = unique('union');
      const entries = Array.from({ length: SEVERAL }, () => withUnionId(openidEntry(), unionid, true));
      const replies = await times(SEVERAL, (index) => enter(by(index), { weixin: entries[index] }));
      expect(replies.map(statusOf).sort()).toEqual([...Array.from({ length: SEVERAL - 1 }, () => 200), 201]);
      expect([distinct(replies, 'objectId'), distinct(replies, 'sessionToken')]).toEqual([1, 1]);
      expect(await countUsers(server())).toBe(before + 1);
      // One of them is the account that is linked now; the union id finds the user for all of them.
      const authData = (await authDataOf(server(), { id: String(replies[0]?.body['objectId']) })) as Json;
      expect([authData['_weixin_unionid'], entries]).toEqual([
        { uid: unionid },
        expect.arrayContaining([authData['weixin']]),
      ]);
    });

    it.each(ROUNDS)('make one user of two identities that come crosswise (round %d)', async () => {
      const [github, gitlab] = [uidEntry(), uidEntry()];
      const before = Number(await countUsers(server()));
      const replies = await times(20, (index) =>
        enter(by(index), index % 2 === 0 ? { github, gitlab } : { gitlab, github }),
      );
      expect(replies.map(statusOf).sort()).toEqual([...Array.from({ length: 19 }, () => 200), 201]);
      expect(await countUsers(server())).toBe(before + 1);
    });

    it.each(ROUNDS)('link an identity to one of 10 users (round %d)', async () => {
      const users = await times(10, () => signUp(api));
      const github = uidEntry();
      const replies = await times(10, (index) => change(by(index), users[index]!, { authData: { github } }));
      expect(sorted(replies)).toEqual([200, ...Array.from({ length: 9 }, () => 208)]);
      const winner = users[replies.findIndex(({ status }) => status === 200)];
      expect(await ownerOf(api, { github })).toBe(winner?.id);
      const linked = await times(10, (index) => authDataOf(server(), users[index]!));
      expect(linked.filter((authData) => authData !== undefined)).toEqual([{ github }]);
    });

    it.each(ROUNDS)('leave an identity of a deleted user to nobody (round %d)', async () => {
      const user = await signUp(api);
      const github = uidEntry();
      const [linked, removed] = await Promise.all([
        change(by(0), user, { authData: { github } }),
        by(1).delete(`/1.1/users/${user.id}`, { session: user.session }),
      ]);
      expect(removed.status).toBe(200);
      expect([200, 206]).toContain(codeOf(linked));
      expect(await ownerOf(api, { github })).toBeUndefined();
    });

    it.each(ROUNDS)('let a user in or make a new one while the user is deleted (round %d)', async () => {
      const github = uidEntry();
      const user = await signUpBy(api, { github });
      const entering = times(10, (index) => enter(by(index), { github }));
      const removed = await masterClient(server()).delete(`/1.1/users/${user.id}`);
      const replies = await entering;
      expect(removed.status).toBe(200);
      expect(replies.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
      expect(replies.filter(({ status }) => status >= 400)).toEqual([]);
      const owner = await ownerOf(api, { github });
      const others = replies.filter(({ body }) => body['objectId'] !== user.id);
      for (const { body } of others) expect(body['objectId']).toBe(owner);
      expect(owner).not.toBe(user.id);
    });

    it.each(ROUNDS)('store one of the tokens of parallel logins, and lose no other platform (round %d)', async () => {
      const { uid } = uidEntry();
      const user = await signUpBy(api, { github: uidEntry(uid) });
      const tokens = Array.from({ length: 10 }, () => uidEntry(uid));
      const added = Array.from({ length: 10 }, () => openidEntry());
      const replies = await Promise.all([
        times(10, (index) => enter(by(index), { github: tokens[index] })),
        times(10, (index) =>
          change(by(index), user, { authData: { [`shop${index}`]: { uid: added[index]?.openid } } }),
        ),
      ]);
      expect(replies.flat().map(statusOf)).toEqual(replies.flat().map(() => 200));
      expect(distinct(replies[0], 'sessionToken')).toBe(1);
      const authData = (await authDataOf(server(), user)) as Json;
      expect(tokens).toContainEqual(authData['github']);
      expect(Object.keys(authData).filter((platform) => platform.startsWith('shop'))).toHaveLength(10);
    });

    it.each(ROUNDS)('give an identity that is unlinked to one new user (round %d)', async () => {
      const [github, qq] = [uidEntry(), openidEntry()];
      const user = await signUpBy(api, { github, qq });
      const [unlinked, ...replies] = await Promise.all([
        change(by(0), user, { 'authData.github': { __op: 'Delete' } }),
        ...Array.from({ length: 10 }, (_, index) => enter(by(index + 1), { github })),
      ]);
      expect(unlinked.status).toBe(200);
      expect(replies.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
      expect(replies.filter(({ status }) => status >= 400)).toEqual([]);
      expect(await authDataOf(server(), user)).toEqual({ qq });
      expect(await ownerOf(api, { github })).not.toBe(user.id);
    });
  });
}
