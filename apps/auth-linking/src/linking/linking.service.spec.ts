import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller, Identity, JsonObject, ObjectWrite } from '#contracts';
import { appError } from '#errors';
import { readClaim } from './claim.rules.js';
import { LinkingService } from './linking.service.js';
import type { ProofService } from './proof.service.js';

const caller: Caller = { requestId: 'r', appId: 'app', isMaster: false };
const refusal = appError('INVALID_IDENTITY');

/** Proves every account but those of weibo. */
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

  it('passes a sign-up on with what was proven, and reads each entry once', async () => {
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

  it('lets one unproven entry end a login', async () => {
    const fields = { authData: { github: { uid: 'g' }, weibo: { uid: 'w' } } };
    await expect(linking.signUpOrLogIn({ caller, fields, failOnNotExist: false })).rejects.toBe(refusal);
  });

  it('takes a sign-up whose entries are all null for an ordinary one', async () => {
    const fields = { username: 'ada', authData: { github: null } };
    const { pattern, data } = await bodyOf(linking.signUpOrLogIn({ caller, fields, failOnNotExist: false }));
    expect([pattern, data['fields']]).toEqual(['accounts.signUp', { username: 'ada' }]);
  });

  it('passes an update on with what is proven, what is not and why, and what is taken away', async () => {
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

  it('lets the server alone make entries of union ids, and the master key alone remove them', async () => {
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

  it('asks for 20 accounts of a joint save at most, and for none of a new user', async () => {
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
