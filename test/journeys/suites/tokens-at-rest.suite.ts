import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, describe, it } from 'vitest';
import { appClient, type GatepostServer, type Json, masterClient, storedRows, unique } from '#testing';
import { refusal } from './refusal.js';
import { authDataOf, change, enter, signUpBy } from './third-party-accounts.js';

/** Platform tokens are sealed at rest, and absent from logs and events (docs/security.md). */
export function describeTokensAtRest(server: () => GatepostServer): void {
  describe('the tokens of platforms', () => {
    const secrets: string[] = [];
    const secret = () => {
      const text = unique('hush');
      secrets.push(text);
      return text;
    };
    const entry = (id: Json): Json => ({ ...id, access_token: secret(), refresh_token: secret(), mac_key: secret() });

    it('are in no table and no file as they are, nor in any log', async () => {
      const api = appClient(server());
      const [github, weixin] = [{ uid: unique('uid') }, { openid: unique('openid') }];
      const user = await signUpBy(api, { github: entry(github) });
      await enter(api, { github: entry(github) });
      await change(api, user, {
        authData: { weixin: entry(weixin), lc_apple: { uid: '1', identity_token: secret() } },
      });
      await api.post('/1.1/batch', {
        requests: [{ method: 'POST', path: '/1.1/users', body: { authData: { github: entry(github) } } }],
      });
      const bad = { weixin: entry({ openid: { secret: secret() } }) };
      expect(await refusal(enter(api, bad))).toEqual([400, 251]);
      expect(await refusal(enter(api, { 'no name': entry({}) }))).toEqual([400, 105]);
      expect(JSON.stringify(await authDataOf(server(), user))).toContain(secrets[0]?.slice(0, 5));

      // Values stored unencrypted can be found this way: the user's name, for example.
      const username = String(user.body['username']);
      expect(await findStored(server(), [username, ...secrets])).toEqual([username]);
      const { stdout, stderr } = server().main;
      expect(secrets.filter((text) => stdout.includes(text) || stderr.includes(text))).toEqual([]);
      await masterClient(server()).delete(`/1.1/users/${user.id}`);
    });
  });
}

/** Those of the texts that are somewhere in what the server stores. */
async function findStored({ env }: GatepostServer, texts: readonly string[]): Promise<string[]> {
  const url = env['DATABASE_URL'];
  const stored =
    url === undefined ? filesBelow(env['GATEPOST_DATA_DIR'] ?? '') : (await storedRows(url)).map(({ text }) => text);
  return texts.filter((text) => stored.some((content) => content.includes(text)));
}

/** The files of the embedded PostgreSQL, its log of changes among them, and all others. */
function filesBelow(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .map((path) => readFileSync(path));
}
