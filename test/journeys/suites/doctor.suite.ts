import { describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  setSetting,
  unique,
} from '#testing';

/** The findings of `gatepost doctor`. */
export function describeDoctor(server: () => GatepostServer): void {
  describe('the doctor', () => {
    /** The findings for one application; the others belong to other tests. */
    const findingsOf = async ({ id }: AppKeys) => {
      const { status, stdout } = await gatepost(server(), 'doctor');
      const [, section = ''] = stdout.split(`(${id})\n`);
      const findings = section.split(/^\S/m)[0] ?? '';
      if (findings !== '') expect(status).toBe(1);
      return findings;
    };

    it('finds a platform that is used without credentials, then what is left, then nothing', async () => {
      const app = await createApplication(server());
      const api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      expect(await findingsOf(app)).toBe('');
      const authData = { weixin: { openid: unique('openid'), access_token: 'token', expires_in: 7200 } };
      await eventually(async () => {
        expect((await api.post('/1.1/users', { authData })).status).toBe(201);
      });
      expect(await findingsOf(app)).toMatch(
        new RegExp(
          `1 account of weixin is in use.*\\n +npm run gatepost -- platforms set ${app.id} weixin appId=VALUE\\n$`,
        ),
      );
      await gatepost(server(), 'platforms', 'set', app.id, 'weixin', 'appId=wx1');
      const left = await findingsOf(app);
      expect(left).toMatch(/1 account of weixin is linked to users without weixin ever having confirmed it/);
      expect(left).toMatch(new RegExp(`apps set ${app.id} requireVerifiedPlatforms true`));
      await setSetting(server(), app, 'requireVerifiedPlatforms', 'true');
      expect(await findingsOf(app)).not.toContain('requireVerifiedPlatforms');
    });
  });
}
