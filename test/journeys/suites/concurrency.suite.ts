import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, masterClient, signUp, unique } from '#testing';

const PARALLEL = 50;
const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** Architecture, Promises: no interleaving of parallel requests breaks a rule. */
export function describeConcurrency(server: () => GatepostServer): void {
  describe('parallel requests over all gateways', () => {
    it.each(['username', 'email', 'mobilePhoneNumber'])('let only one of 50 sign-ups have a %s', async (field) => {
      const taken = {
        username: unique('race'),
        email: `${unique('race')}@example.com`,
        mobilePhoneNumber: '+8613700000001',
      }[field];
      const replies = await times(PARALLEL, (index) =>
        appClient(server(), index).post('/1.1/users', { username: unique('racer'), password: 'p', [field]: taken }),
      );
      const code = { username: 202, email: 203, mobilePhoneNumber: 214 }[field];
      expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(replies.filter(({ body }) => body['code'] === code)).toHaveLength(PARALLEL - 1);
      const { body } = await masterClient(server()).get(
        `/1.1/users?count=1&where=${encodeURIComponent(JSON.stringify({ [field]: taken }))}`,
      );
      expect(body['count']).toBe(1);
    });

    it('leave one valid session token after many refreshes at once', async () => {
      const user = await signUp(appClient(server()));
      const replies = await times(20, (index) =>
        index % 2 === 0
          ? masterClient(server()).put(`/1.1/users/${user.id}/refreshSessionToken`)
          : appClient(server(), index).put(`/1.1/users/${user.id}/refreshSessionToken`, {}, { session: user.session }),
      );
      const tokens = replies.filter(({ status }) => status === 200).map(({ body }) => String(body['sessionToken']));
      expect(new Set(tokens).size).toBe(tokens.length);
      const checks = await Promise.all(
        [user.session, ...tokens].map((session) => appClient(server()).get('/1.1/users/me', { session })),
      );
      expect(checks.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it('lose no update of different fields', async () => {
      const user = await signUp(appClient(server()));
      const replies = await times(PARALLEL, (index) =>
        appClient(server(), index).put(
          `/1.1/users/${user.id}`,
          { [`field${index}`]: index },
          { session: user.session },
        ),
      );
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
      const { body } = await appClient(server()).get(`/1.1/users/${user.id}`);
      for (let index = 0; index < PARALLEL; index += 1) expect(body[`field${index}`]).toBe(index);
      const updateTimes = replies.map((reply) => String(reply.body['updatedAt'])).sort();
      expect(new Set(updateTimes).size).toBe(PARALLEL);
      expect(body['updatedAt']).toBe(updateTimes.at(-1));
    });

    it('let only one of many password changes with the same old password win', async () => {
      const user = await signUp(appClient(server()));
      const replies = await times(10, (index) =>
        appClient(server(), index).put(
          `/1.1/users/${user.id}/updatePassword`,
          { old_password: user.password, new_password: `new ${index}` },
          { session: user.session },
        ),
      );
      const winners = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []));
      expect(winners).toHaveLength(1);
      const login = await appClient(server()).post('/1.1/login', {
        username: user.username,
        password: `new ${winners[0] ?? ''}`,
      });
      expect(login.body['sessionToken']).toBe(replies[winners[0] ?? 0]?.body['sessionToken']);
    });

    it('delete a user once', async () => {
      const user = await signUp(appClient(server()));
      const replies = await times(10, (index) =>
        appClient(server(), index).delete(`/1.1/users/${user.id}`, { session: user.session }),
      );
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ body }) => body['code'] === 206)).toHaveLength(9);
    });
  });
}
