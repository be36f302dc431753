import { describe, expect, it } from 'vitest';
import type { ApplicationDirectory } from '#admission';
import type { JsonObject, PlatformKind } from '#contracts';
import { appError } from '#errors';
import type { CredentialsService } from '../credentials/credentials.service.js';
import type { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import type { Proof } from '../platforms/platform.rules.js';
import { ProofService } from './proof.service.js';

interface World {
  /** The keys that have credentials. */
  readonly configured?: Partial<Record<string, PlatformKind>>;
  /** What the platform says; without it nobody may ask. */
  readonly answer?: Proof | Error;
  readonly requireVerifiedPlatforms?: boolean;
}

const refused = (errorName: string, text: string) => ({ errorName, message: expect.stringContaining(text) as string });

async function prove(platform: string, entry: JsonObject, world: World = {}) {
  const { configured = {}, answer, requireVerifiedPlatforms = false } = world;
  const credentials = {
    kinds: () => Promise.resolve(new Map(Object.entries(configured))),
    find: (_: string, key: string, kind: string) =>
      Promise.resolve(key in configured || kind in configured ? { appId: 'A' } : undefined),
  };
  const verify = () => {
    if (answer === undefined) throw new Error('nobody may be asked');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
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
  it('is what the platform confirms, where the application has credentials for it', async () => {
    const entry = { openid: 'O', access_token: 'T', unionid: 'UU', platform: 'weixin' };
    const world = { configured: { weixin: 'weixin' }, answer: { uid: 'O', unionId: 'UU' } } as const;
    const unionId = { platform: 'weixin', uid: 'UU', isMain: false };
    const proven = { platform: 'weixin', kind: 'weixin', uid: 'O', isVerified: true, entry, unionId };
    expect(await prove('weixin', entry, world)).toEqual(proven);
    const own = { ...proven, platform: 'weixin_1' };
    expect(await prove('weixin_1', entry, world)).toEqual(own);
  });

  it('takes the place of the codes that it was given for', async () => {
    const additions = { uid: 'O', openid: 'O', session_key: 'K' };
    const world = { configured: { lc_tt: 'lc_tt' }, answer: { uid: 'O', additions } } as const;
    const sent = { code: 'C', anonymousCode: 'a', anonymous_code: 'b', nick: 'ada' };
    expect((await prove('lc_tt', sent, world)).entry).toEqual({ nick: 'ada', ...additions });
  });

  it.each([appError('INVALID_IDENTITY'), appError('SERVICE_UNAVAILABLE')])(
    'is nothing where the platform fails it: %s',
    async (answer) => {
      const world = { configured: { qq: 'qq' }, answer } as const;
      await expect(prove('qq', { openid: 'O', access_token: 'T' }, world)).rejects.toBe(answer);
    },
  );

  it('is nothing where the platform confirms somebody else', async () => {
    const world = { configured: { qq: 'qq' }, answer: { uid: 'other' } } as const;
    await expect(prove('qq', { openid: 'O' }, world)).rejects.toMatchObject(refused('INVALID_IDENTITY', 'qq: '));
  });

  it.each([
    ['weixin', { openid: 'O' }, { kind: 'weixin' }],
    ['github', { uid: 'O' }, {}],
    ['anonymous', { id: UUID }, {}],
  ])('is believed of %s without credentials', async (platform, entry, kind) => {
    const [uid] = Object.values(entry);
    expect(await prove(platform, entry)).toEqual({ platform, ...kind, uid, isVerified: false, entry });
  });

  it('is nothing of an anonymous user whose id can be guessed', async () => {
    await expect(prove('anonymous', { id: '1' })).rejects.toMatchObject(refused('INVALID_IDENTITY', 'UUID'));
  });

  it.each<[string, string, JsonObject, World]>([
    ['INVALID_WEIXIN_IDENTITY', 'requireVerifiedPlatforms', { openid: 'O' }, { requireVerifiedPlatforms: true }],
    [
      'INVALID_WEIXIN_IDENTITY',
      'union id',
      { openid: 'O', unionid: 'UU', platform: 'weixin' },
      { configured: { qq: 'qq', lc_weapp: 'lc_weapp' } },
    ],
    ['IDENTITY_MISSING', 'authData.weixin', { access_token: 'T' }, {}],
  ])('is refused with %s (%s) of a platform without credentials: %j', async (errorName, text, entry, world) => {
    await expect(prove('weixin', entry, world)).rejects.toMatchObject(refused(errorName, text));
  });

  it('is nothing for a code that nobody can exchange', async () => {
    await expect(prove('lc_weapp', { code: 'C' })).rejects.toMatchObject(refused('INVALID_IDENTITY', 'code'));
  });

  it.each(['github', 'anonymous'])('of %s is believed also where platforms must be verified', async (platform) => {
    const identity = await prove(platform, { uid: UUID, id: UUID }, { requireVerifiedPlatforms: true });
    expect(identity).toMatchObject({ uid: UUID, isVerified: false });
  });
});
