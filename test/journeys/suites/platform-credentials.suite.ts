import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AppKeys,
  createApplication,
  gatepost,
  gatepostReading,
  type GatepostServer,
  newFolder,
  unique,
} from '#testing';
import { expectRefused } from './refusal.js';

/** The credentials of an application for platforms, set by its operator. */
export function describePlatformCredentials(server: () => GatepostServer): void {
  describe('the credentials of platforms, by the command line', () => {
    let app: AppKeys;
    let file: string;
    const secret = unique('hush');
    const platforms = (...args: string[]) => gatepost(server(), 'platforms', ...args);
    const listed = async (id = app.id) => (await platforms('list', id)).stdout;
    const expectRefusal = async (args: readonly string[], text: RegExp) => {
      const outcome = await platforms(...args);
      expectRefused(outcome, text);
      expect(outcome.stderr).not.toContain(secret);
    };

    beforeAll(async () => {
      app = await createApplication(server());
      file = join(newFolder('secrets'), 'app-secret');
      writeFileSync(file, `${secret}\n`);
    });

    it('are none at first', async () => {
      expect(await listed()).toMatch(/has no credentials of platforms/);
    });

    it('are set with a secret from a file, and never show it', async () => {
      const { status, stdout } = await platforms('set', app.id, 'lc_weapp', 'appId=wx1', `appSecret=@${file}`);
      expect([status, stdout]).toEqual([0, 'lc_weapp\n  appId       wx1\n  appSecret   (secret)\n']);
      expect(await listed()).toBe(stdout);
    });

    it('are replaced as a whole, also with a secret from standard input and under a key of their own', async () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const keyFile = join(newFolder('secrets'), 'AuthKey.p8');
      writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const ofCodes = ['teamId=T1', 'keyId=K1', `privateKey=@${keyFile}`];
      const { status } = await platforms('set', app.id, 'lc_apple', 'clientId=com.shop', ...ofCodes);
      expect(status).toBe(0);
      await platforms('set', app.id, 'lc_apple', 'clientId=com.shop,com.web');
      expect(await listed()).toMatch(/^lc_apple\n {2}clientId +com\.shop,com\.web\nlc_weapp\n/);
      const args = ['platforms', 'set', app.id, 'shop_tv', '--kind', 'lc_weapp', 'appId=wx2', 'appSecret=-'];
      expect((await gatepostReading(secret, server(), ...args)).status).toBe(0);
      expect(await listed()).toMatch(/^shop_tv \(lc_weapp\)\n {2}appId +wx2\n {2}appSecret +\(secret\)$/m);
    });

    it('are of one application', async () => {
      const other = await createApplication(server());
      expect(await listed(other.id)).toMatch(/has no credentials of platforms/);
      await expectRefusal(['remove', other.id, 'lc_weapp'], /has no credentials for "lc_weapp"/);
    });

    it('refuse in plain words what they do not take', async () => {
      const before = await listed();
      const set = ['set', app.id];
      await expectRefusal([...set, 'lc_weapp', 'appId=wx1', `appSecret=${secret}`], /appSecret is a secret.*=@.*=-/);
      await expectRefusal([...set, 'lc_weapp', 'appId=wx1'], /^appSecret: is missing/);
      await expectRefusal([...set, 'lc_weapp', 'appId=', `appSecret=@${file}`], /^appId: must be 1 to 255/);
      await expectRefusal(
        [...set, 'lc_alipay', 'appId=1', `privateKey=@${file}`],
        /^privateKey: must be the app's RSA/,
      );
      await expectRefusal([...set, 'weixin', '--kind', 'qq', 'appId=1'], /^"weixin" is a platform of its own/);
      await expectRefusal(['set', unique('unknown'), 'weixin', 'appId=1'], /^There is no application/);
      await expectRefusal(['list', unique('unknown')], /^There is no application/);
      expect(await listed()).toBe(before);
    });

    it('are removed, once', async () => {
      expect((await platforms('remove', app.id, 'shop_tv')).status).toBe(0);
      expect(await listed()).not.toContain('shop_tv');
      await expectRefusal(['remove', app.id, 'shop_tv'], /has no credentials for "shop_tv"/);
    });

    it('are listed in the help, with secret fields marked', async () => {
      expect((await platforms('set', '--help')).stdout).toMatch(/lc_weapp +appId\n +appSecret +\(secret\)/);
    });

    it('leave no secret in any log', () => {
      expect(server().main.stderr).not.toContain(secret);
      expect(server().main.stdout).not.toContain(secret);
    });
  });
}
