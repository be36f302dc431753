import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller, Identity, JsonObject, ObjectWrite } from '#contracts';
import { appError } from '#errors';
import { readClaim } from './claim.rules.js';
import { LinkingService } from './linking.service.js';
import type { ProofService } from './proof.service.js';

const caller: Caller = { requestId: 'r', appId: 'app', isMaster: false };
const refusal = appError('INVALID_IDENTITY');

/** Verifies all accounts except those of weibo. */
const proofs = {
  read: vi.fn<ProofService['read']>((_, platform, entry) => Promise.resolve(readClaim(platform, entry))),
  prove: vi.fn<ProofService['prove']>((_, { platform, uid = '', entry }) =>
    platform === 'weibo' ? Promise.reject(refusal) : Promise.resolve({ platform, uid, isVerified: true, entry }),
  ),
};
const linking = new LinkingService(proofs as unknown as ProofService);

const proven = (platform: string, uid: string): Identity => ({ platform, uid, isVerified: true, entry: { uid } });
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

describe('LinkingService', () => {
  beforeEach(() => {
    vi.clearAllMocks();
  });

  it('forwards a sign-up with its identities, and parses each entry once', async () => {
    const fields = { color: 'red', authData: { github: { uid: 'g' } } };
    const { pattern, data } = await bodyOf(linking.signUpOrLogIn({ caller, fields, failOnNotExist: true }));
    expect(pattern).toBe('accounts.signUpOrLogInByIdentity');
    expect(data).toMatchObject({
      fields: { color: 'red' },
      identities: [proven('github', 'g')],
      failOnNotExist: true,
    });
    expect(proofs.read).toHaveBeenCalledOnce();
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
    expect(proofs.read).toHaveBeenCalledTimes(2);
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
    expect(proofs.prove).not.toHaveBeenCalled();
  });

  it('verifies at most 20 accounts of a batch save, and none of a new user', async () => {
    const notSupported = { errorName: 'NOT_SUPPORTED' };
    const linked = (count: number) =>
      write(
        { authData: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { uid: 'u' }])) },
        'a',
      );
    await expect(linking.saveAll({ caller, writes: [linked(11), linked(10)] })).rejects.toMatchObject(notSupported);
    expect(proofs.read).not.toHaveBeenCalled();
    const newUser = write({ authData: { github: { uid: 'g' } } });
    await expect(linking.saveAll({ caller, writes: [newUser] })).rejects.toMatchObject(notSupported);
    expect((await bodyOf(linking.saveAll({ caller, writes: [linked(10), linked(10)] }))).pattern).toBe(
      'accounts.saveAll',
    );
  });
});
