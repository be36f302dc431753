import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiClient, appClient, type GatepostServer, type Json, masterClient, signUp, unique } from '#testing';
import { refusal } from './refusal.js';
import {
  authDataOf,
  change,
  enter,
  openidEntry,
  ownerOf,
  signUpBy,
  type ThirdPartyUser,
  uidEntry,
} from './third-party-accounts.js';

/** Specification, anonymous users; decisions, an anonymous user who gets a password or a platform. */
export function describeAnonymous(server: () => GatepostServer): void {
  describe('anonymous users', () => {
    let api: ApiClient;
    let anonymous: Json;
    let user: ThirdPartyUser;

    beforeAll(() => {
      api = appClient(server());
    });
    beforeEach(async () => {
      anonymous = { id: crypto.randomUUID() };
      user = await signUpBy(api, { anonymous });
    });

    /** The id is free again; the user keeps its session token. */
    const expectUpgraded = async (authData: Json | undefined) => {
      expect((await authDataOf(server(), user)) ?? {}).toEqual(authData ?? {});
      const { body } = await api.get('/1.1/users/me', { session: user.session });
      expect(body['objectId']).toBe(user.id);
      expect(await ownerOf(api, { anonymous })).toBeUndefined();
      expect((await signUpBy(api, { anonymous })).id).not.toBe(user.id);
    };

    it('get in by their id, again and again', async () => {
      expect(user.body).toMatchObject({
        username: expect.stringMatching(/^[0-9a-z]{25}$/) as string,
        authData: { anonymous },
      });
      const { status, body } = await enter(api, { anonymous });
      expect([status, body['objectId'], body['sessionToken']]).toEqual([200, user.id, user.session]);
    });

    it('stay anonymous when other fields change, or a username alone', async () => {
      expect((await change(api, user, { color: 'green', username: unique('still') })).status).toBe(200);
      expect(await ownerOf(api, { anonymous })).toBe(user.id);
    });

    it('become normal with username and password', async () => {
      const [username, password] = [unique('grown'), 'correct horse'];
      expect((await change(api, user, { username, password })).status).toBe(200);
      const { body } = await api.post('/1.1/login', { username, password });
      user = { ...user, session: String(body['sessionToken']) };
      expect(body['objectId']).toBe(user.id);
      await expectUpgraded({});
    });

    it('become normal with the account of a platform, linked by an update', async () => {
      const weixin = openidEntry();
      expect((await change(api, user, { authData: { weixin } })).status).toBe(200);
      await expectUpgraded({ weixin });
    });

    it('become normal with the account of a platform, sent together with the anonymous id', async () => {
      const github = uidEntry();
      const { status, body } = await enter(api, { anonymous, github });
      expect([status, body['objectId'], body['authData']]).toEqual([200, user.id, { github }]);
      await expectUpgraded({ github });
    });

    it('stay anonymous if the platform’s account belongs to another user', async () => {
      const github = uidEntry();
      await signUpBy(api, { github });
      expect(await refusal(change(api, user, { authData: { github } }))).toEqual([400, 208]);
      expect(await refusal(enter(api, { anonymous, github }))).toEqual([400, 208]);
      expect(await ownerOf(api, { anonymous })).toBe(user.id);
    });

    it('are never made of users with another login method', async () => {
      const [normal, linked] = [await signUp(api), await signUpBy(api, { github: uidEntry() })];
      for (const each of [normal, linked]) {
        const authData = { anonymous: { id: crypto.randomUUID() } };
        await change(api, each, { authData });
        expect(await ownerOf(api, authData)).toBeUndefined();
      }
    });

    it('are no more than others once they are deleted', async () => {
      expect((await masterClient(server()).delete(`/1.1/users/${user.id}`)).status).toBe(200);
      expect((await signUpBy(api, { anonymous })).id).not.toBe(user.id);
    });
  });
}
