import { beforeAll, describe, expect } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  type GatepostServer,
  type PlatformServer,
  unique,
} from '#testing';
import { setCredentials } from '../journeys/suites/platform-apps.js';
import { change, enter, signUpBy, type ThirdPartyUser, uidEntry } from '../journeys/suites/third-party-accounts.js';
import { outcomesOf, racesOn, repeated, ROUNDS, times, tokensOf } from './race.js';

const FEW = 10;
const NO_SESSION = 206;

/** Decisions: the first proof of an account that was believed so far renews the session token. */
export function describeFirstProofRaces(server: () => GatepostServer, platforms: () => PlatformServer): void {
  describe('accounts that are proven for the first time, many times at once', () => {
    let app: AppKeys;
    const pretenders: { readonly openid: string; readonly user: ThirdPartyUser }[] = [];
    const race = racesOn(() => ({ ...server(), app }));

    beforeAll(async () => {
      app = await createApplication(server());
      const api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      for (let index = 0; index < ROUNDS; index += 1) {
        const openid = unique('openid');
        const entry = { openid, access_token: unique('claimed') };
        pretenders.push({ openid, user: await eventually(() => signUpBy(api, { weixin: entry })) });
      }
      await setCredentials(server(), platforms(), app, ['weixin']);
    });

    race('renew the session token once, and the earlier session ends', async (round) => {
      const { openid, user } = pretenders.pop()!;
      const shops = Array.from({ length: FEW }, () => uidEntry());
      const { proofs, writes } = await round.cross({
        proofs: times(FEW, (api) => enter(api, { weixin: platforms().weixin.issueToken({ openid }) })),
        writes: times(FEW, (api, index) => change(api, user, { [`shop${index}`]: shops[index] })),
      });
      expect(outcomesOf(proofs)).toEqual(repeated(FEW, 200));
      expect(outcomesOf(writes).filter((outcome) => outcome !== 200 && outcome !== NO_SESSION)).toEqual([]);
      const tokens = new Set(tokensOf(...proofs));
      expect(tokens.size).toBe(1);
      expect(await round.goodOf([user.session, ...tokens])).toEqual([...tokens]);
      expect(tokens).not.toContain(user.session);
      const stored = shops.flatMap((shop, index) => (writes[index]?.status === 200 ? [[`shop${index}`, shop]] : []));
      await round.expectStored(
        [{ platform: 'weixin', uid: openid, fields: Object.fromEntries(stored) as unknown }],
        `SELECT i.platform, i.uid, u.fields FROM accounts.identities i
           JOIN accounts.users u ON (u.app_id, u.object_id) = (i.app_id, i.user_id)
          WHERE i.app_id = $1 AND i.user_id = $2`,
        user.id,
      );
    });
  });
}
