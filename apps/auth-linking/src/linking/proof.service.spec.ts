import { describe, expect, it } from 'vitest';
import type { ApplicationDirectory } from '#admission';
import type { JsonObject, PlatformKind } from '#contracts';
import { appError } from '#errors';
import type { CredentialsService } from '../credentials/credentials.service.js';
import type { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import type { Proof } from '../platforms/platform.rules.js';
import { ProofService } from './proof.service.js';

interface Circumstances {
  /** The keys that have credentials. */
  readonly configured?: Partial<Record<string, PlatformKind>>;
  /** The result of the verifier; without it the verifier must not be called. */
  readonly outcome?: Proof | Error;
  readonly requireVerifiedPlatforms?: boolean;
}

const refused = (errorName: string, text: string) => ({ errorName, message: expect.stringContaining(text) as string });

async function prove(platform: string, entry: JsonObject, circumstances: Circumstances = {}) {
  const { configured = {}, outcome, requireVerifiedPlatforms = false } = circumstances;
  const credentials = {
    kinds: () => Promise.resolve(new Map(Object.entries(configured))),
    find: (_: string, key: string, kind: string) =>
      Promise.resolve(key in configured || kind in configured ? { appId: 'A' } : undefined),
  };
  const verify = () => {
    if (outcome === undefined) throw new Error('the verifier must not be called');
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  const applications = { find: () => Promise.resolve({ settings: { requireVerifiedPlatforms } }) };
  const service = new ProofService(
    credentials as unknown as CredentialsService,
    { of: () => ({ verify }) } as unknown as PlatformVerifiers,
    applications as unknown as ApplicationDirectory,
  );
  return service.prove('app', await service.read('app', platform, entry));
}

const UUID = '0b0f9a04-2f0d-4bd6-8f9e-3a1f2d4c5b6a';

describe('what an entry of authData proves', () => {
  it('is verified by the platform if the application has credentials', async () => {
    const entry = { openid: 'O', access_token: 'T', unionid: 'UU', platform: 'weixin' };
    const circumstances = { configured: { weixin: 'weixin' }, outcome: { uid: 'O', unionId: 'UU' } } as const;
    const unionId = { platform: 'weixin', uid: 'UU', isMain: false };
    const proven = { platform: 'weixin', kind: 'weixin', uid: 'O', isVerified: true, entry, unionId };
    expect(await prove('weixin', entry, circumstances)).toEqual(proven);
    const own = { ...proven, platform: 'weixin_1' };
    expect(await prove('weixin_1', entry, circumstances)).toEqual(own);
  });

  it('replaces the codes in the entry', async () => {
    const additions = { uid: 'O', openid: 'O', session_key: 'K' };
    const circumstances = { configured: { lc_tt: 'lc_tt' }, outcome: { uid: 'O', additions } } as const;
    const sent = { code: 'C', anonymousCode: 'a', anonymous_code: 'b', nick: 'ada' };
    expect((await prove('lc_tt', sent, circumstances)).entry).toEqual({ nick: 'ada', ...additions });
  });

  it.each([appError('INVALID_IDENTITY'), appError('SERVICE_UNAVAILABLE')])(
    'is nothing if the verification fails: %s',
    async (outcome) => {
      const circumstances = { configured: { qq: 'qq' }, outcome } as const;
      await expect(prove('qq', { openid: 'O', access_token: 'T' }, circumstances)).rejects.toBe(outcome);
    },
  );

  it('is nothing if the platform confirms another user', async () => {
    const circumstances = { configured: { qq: 'qq' }, outcome: { uid: 'other' } } as const;
    await expect(prove('qq', { openid: 'O' }, circumstances)).rejects.toMatchObject(
      refused('INVALID_IDENTITY', 'qq: '),
    );
  });

  it.each([
    ['weixin', { openid: 'O' }, { kind: 'weixin' }],
    ['github', { uid: 'O' }, {}],
    ['anonymous', { id: UUID }, {}],
  ])('is an unverified identity of %s without credentials', async (platform, entry, kind) => {
    const [uid] = Object.values(entry);
    expect(await prove(platform, entry)).toEqual({ platform, ...kind, uid, isVerified: false, entry });
  });

  it('is nothing of an anonymous user whose id can be guessed', async () => {
    await expect(prove('anonymous', { id: '1' })).rejects.toMatchObject(refused('INVALID_IDENTITY', 'UUID'));
  });

  it.each<[string, string, JsonObject, Circumstances]>([
    ['INVALID_WEIXIN_IDENTITY', 'requireVerifiedPlatforms', { openid: 'O' }, { requireVerifiedPlatforms: true }],
    [
      'INVALID_WEIXIN_IDENTITY',
      'union id',
      { openid: 'O', unionid: 'UU', platform: 'weixin' },
      { configured: { qq: 'qq', lc_weapp: 'lc_weapp' } },
    ],
    ['IDENTITY_MISSING', 'authData.weixin', { access_token: 'T' }, {}],
  ])('is refused with %s (%s) of a platform without credentials: %j', async (errorName, text, entry, circumstances) => {
    await expect(prove('weixin', entry, circumstances)).rejects.toMatchObject(refused(errorName, text));
  });

  it('is nothing for a code of a platform without credentials', async () => {
    await expect(prove('lc_weapp', { code: 'C' })).rejects.toMatchObject(refused('INVALID_IDENTITY', 'code'));
  });

  it.each(['github', 'anonymous'])(
    'is an unverified identity of %s even if platforms must be verified',
    async (platform) => {
      const identity = await prove(platform, { uid: UUID, id: UUID }, { requireVerifiedPlatforms: true });
      expect(identity).toMatchObject({ uid: UUID, isVerified: false });
    },
  );
});
