import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApplicationDirectory } from '#admission';
import type { Caller, Identity, JsonObject, ObjectWrite, PlatformKind } from '#contracts';
import { appError } from '#errors';
import type { CredentialsService } from '../credentials/credentials.service.js';
import type { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import type { Proof } from '../platforms/platform.rules.js';
import { LinkingController } from './linking.controller.js';

const caller: Caller = { requestId: 'r', appId: 'app', isMaster: false };
const refusal = appError('INVALID_IDENTITY');

/** Credentials exist for weibo only, which refuses every account; other accounts are accepted unverified. */
const credentials = {
  kinds: vi.fn(() => Promise.resolve(new Map())),
  find: vi.fn((_: string, platform: string) => Promise.resolve(platform === 'weibo' ? {} : undefined)),
};
const linking = new LinkingController(
  credentials as unknown as CredentialsService,
  { of: () => ({ verify: () => Promise.reject(refusal) }) } as unknown as PlatformVerifiers,
  { find: () => Promise.resolve({ settings: {} }) } as unknown as ApplicationDirectory,
);

const proven = (platform: string, uid: string): Identity => ({ platform, uid, isVerified: false, entry: { uid } });
const update = (changes: JsonObject, by = caller) =>
  linking.updateUser({ caller: by, objectId: 'id', changes, returnNew: false });
const write = (fields: JsonObject, objectId?: string): ObjectWrite => ({
  className: '_User',
  internalId: 'i',
  ...(objectId === undefined ? {} : { objectId }),
  fields,
  children: [],
  returnNew: false,
});
const bodyOf = async (forwarded: Promise<{ pattern: string; body: string }>) => {
  const { pattern, body } = await forwarded;
  return { pattern, data: (JSON.parse(body) as { data: JsonObject }).data };
};

describe('LinkingController', () => {
  beforeEach(() => {
    vi.clearAllMocks();
  });

  it('forwards a sign-up with its identities', async () => {
    const fields = { color: 'red', authData: { github: { uid: 'g' } } };
    const { pattern, data } = await bodyOf(linking.signUpOrLogIn({ caller, fields, failOnNotExist: true }));
    expect(pattern).toBe('accounts.signUpOrLogInByIdentity');
    expect(data).toMatchObject({
      fields: { color: 'red' },
      identities: [proven('github', 'g')],
      failOnNotExist: true,
    });
  });

  it('rejects a login with one unproven entry', async () => {
    const fields = { authData: { github: { uid: 'g' }, weibo: { uid: 'w' } } };
    await expect(linking.signUpOrLogIn({ caller, fields, failOnNotExist: false })).rejects.toBe(refusal);
  });

  it('treats a sign-up with only null entries as an ordinary one', async () => {
    const fields = { username: 'ada', authData: { github: null } };
    const { pattern, data } = await bodyOf(linking.signUpOrLogIn({ caller, fields, failOnNotExist: false }));
    expect([pattern, data['fields']]).toEqual(['accounts.signUp', { username: 'ada' }]);
  });

  it('forwards an update with proven, unproven and removed identities', async () => {
    const { pattern, data } = await bodyOf(
      update({ level: 1, authData: { github: { uid: 'g' }, weibo: { uid: 'w' }, qq: null } }),
    );
    expect([pattern, data['changes']]).toEqual(['accounts.updateUser', { level: 1 }]);
    expect(data['identities']).toEqual({
      link: [proven('github', 'g')],
      unproven: [{ platform: 'weibo', uid: 'w', error: expect.objectContaining({ code: 251 }) as unknown }],
      unlink: ['qq'],
    });
  });

  it('reserves entries of union ids for the server, and their removal for the master key', async () => {
    const readOnly = { errorName: 'READ_ONLY_KEY' };
    const entry = { authData: { _weixin_unionid: { uid: 'u' } } };
    await expect(linking.signUpOrLogIn({ caller, fields: entry, failOnNotExist: false })).rejects.toMatchObject(
      readOnly,
    );
    expect((await bodyOf(update(entry))).data['identities']).toMatchObject({ link: [], unproven: [{ uid: 'u' }] });
    const removal = { 'authData._weixin_unionid': { __op: 'Delete' } };
    await expect(update(removal)).rejects.toMatchObject(readOnly);
    const byMaster = await bodyOf(update(removal, { ...caller, isMaster: true }));
    expect(byMaster.data['identities']).toMatchObject({ unlink: ['_weixin_unionid'] });
    expect(credentials.find).not.toHaveBeenCalled();
  });

  it('verifies at most 20 accounts of a batch save, and none of a new user', async () => {
    const notSupported = { errorName: 'NOT_SUPPORTED' };
    const linked = (count: number) =>
      write(
        { authData: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { uid: 'u' }])) },
        'a',
      );
    await expect(linking.saveAll({ caller, writes: [linked(11), linked(10)] })).rejects.toMatchObject(notSupported);
    expect(credentials.kinds).not.toHaveBeenCalled();
    const newUser = write({ authData: { github: { uid: 'g' } } });
    await expect(linking.saveAll({ caller, writes: [newUser] })).rejects.toMatchObject(notSupported);
    expect((await bodyOf(linking.saveAll({ caller, writes: [linked(10), linked(10)] }))).pattern).toBe(
      'accounts.saveAll',
    );
  });
});

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
  const controller = new LinkingController(
    credentials as unknown as CredentialsService,
    { of: () => ({ verify }) } as unknown as PlatformVerifiers,
    applications as unknown as ApplicationDirectory,
  );
  const fields = { authData: { [platform]: entry } };
  const { data } = await bodyOf(controller.signUpOrLogIn({ caller, fields, failOnNotExist: false }));
  return (data['identities'] as unknown as Identity[])[0];
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
    expect((await prove('lc_tt', sent, circumstances))?.entry).toEqual({ nick: 'ada', ...additions });
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
