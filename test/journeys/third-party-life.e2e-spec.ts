import { describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  countUsers,
  eventually,
  type GatepostServer,
  isAlive,
  isProvided,
  SERVERS,
  signUp,
  startServices,
  startStandalone,
  unique,
} from '#testing';
import { enter, ownerOf, signUpBy, uidEntry } from './suites/third-party-accounts.js';

const IDENTITIES = 40;

function pidOf({ processes }: GatepostServer, service: string): number {
  return processes.find((each) => each.service === service)!.pid;
}

describe.runIf(isProvided(...SERVERS))(
  'accounts on other platforms, while a service ends (architecture, promises kept so far)',
  () => {
    it('without auth-linking: 503 with Retry-After, while everything else goes on', async () => {
      const running = await startServices({ gateway: 1, accounts: 1 });
      try {
        const api = appClient(running).acceptingUnavailable();
        const user = await signUp(api);
        const authData = { github: uidEntry() };
        const { session } = user;
        const write = { method: 'PUT', path: `/1.1/users/${user.id}`, body: { authData } };
        for (const { status, headers, body } of [
          await enter(api, authData),
          await api.put(`/1.1/users/${user.id}`, { authData }, { session }),
          await api.post('/1.1/batch/save', { requests: [write] }, { session }),
        ])
          expect([status, body['code'], Number(headers.get('retry-after')) > 0]).toEqual([503, 503, true]);
        expect((await api.put(`/1.1/users/${user.id}`, { color: 'green', authData: null }, { session })).status).toBe(
          200,
        );
        expect((await api.get('/1.1/users/me', { session })).body['authData']).toBeUndefined();
      } finally {
        await running.stop();
      }
    });

    it.each(['auth-linking', 'accounts'])('SIGTERM completes the logins in flight: %s', async (service) => {
      const replicas = { gateway: 1, accounts: 2, 'auth-linking': 2 };
      // Hashing keeps sign-ups in flight, far below the 3 seconds after which it refuses on a busy machine.
      const running = await startServices(replicas, { GATEPOST_PASSWORD_COST: '8' });
      try {
        const api = appClient(running).acceptingUnavailable();
        const account = () => ({ username: unique('flight'), password: 'p' });
        const replies = Array.from({ length: 20 }, () => enter(api, { github: uidEntry() }, account()));
        await Promise.race(replies);
        process.kill(pidOf(running, service), 'SIGTERM');
        expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(replies.map(() => 201));
        await eventually(() => {
          expect(isAlive(pidOf(running, service))).toBe(false);
        });
        expect((await signUpBy(api, { github: uidEntry() })).id).toBeTruthy();
      } finally {
        await running.stop();
      }
    });

    it.each(['auth-linking', 'accounts'])('kill -9 loses no account and doubles none: %s', async (service) => {
      const running = await startServices({ gateway: 2, accounts: 2, 'auth-linking': 2 });
      try {
        const by = (gateway: number) => appClient(running, gateway).acceptingUnavailable();
        const identities = Array.from({ length: IDENTITIES }, () => ({ github: uidEntry() }));
        const enterAll = () => identities.map((authData, index) => enter(by(index), authData));
        const first = enterAll();
        await Promise.race(first);
        process.kill(pidOf(running, service), 'SIGKILL');
        const answered = await Promise.all(first);
        expect(answered.filter(({ status }) => ![201, 503].includes(status))).toEqual([]);
        await eventually(async () => {
          const again = await Promise.all(enterAll());
          expect(again.filter(({ status }) => status === 503)).toEqual([]);
        }, 30_000);
        const owners = await Promise.all(identities.map((authData) => ownerOf(by(0), authData)));
        for (const [index, { status, body }] of answered.entries())
          if (status === 201) expect(owners[index]).toBe(body['objectId']);
        expect(new Set(owners).size).toBe(IDENTITIES);
        expect(await countUsers(running)).toBe(IDENTITIES);
      } finally {
        await running.stop();
      }
    });
  },
);

describe('accounts on other platforms, while one process ends (architecture, promises kept so far)', () => {
  it('kill -9 of the standalone server: the account lets in again', async () => {
    const first = await startStandalone();
    const authData = { github: uidEntry() };
    const user = await signUpBy(appClient(first), authData);
    await first.main.stop('SIGKILL');
    const second = await startStandalone(first.env);
    try {
      const { status, body } = await enter(ApiClient.forApp(second.baseUrls[0] ?? '', first.app), authData);
      expect([status, body['sessionToken'], body['authData']]).toEqual([200, user.session, authData]);
    } finally {
      await second.stop();
    }
  });
});
