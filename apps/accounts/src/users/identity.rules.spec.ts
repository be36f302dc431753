import { describe, expect, it } from 'vitest';
import type { Identity, PlatformKind } from '#contracts';
import {
  changeIdentities,
  findOwner,
  isFirstProof,
  isLinkedAlready,
  keysOf,
  linkIdentities,
  type OwnedIdentity,
  pruneIdentities,
} from './identity.rules.js';
import type { LinkedIdentities } from './user.rules.js';

const weibo = (uid: string, more: Partial<Identity> = {}): Identity => ({
  platform: 'weibo',
  kind: 'weibo',
  uid,
  isVerified: false,
  entry: { uid },
  ...more,
});
const anonymous: Identity = { platform: 'anonymous', uid: 'x', isVerified: false, entry: { id: 'x' } };
const main: Identity = {
  platform: 'weixin',
  kind: 'weixin',
  uid: 'o',
  isVerified: true,
  entry: { openid: 'o', unionid: 'u' },
  unionId: { platform: 'weixin', uid: 'u', isMain: true },
};
const secondary: Identity = {
  ...main,
  platform: 'weixin_1',
  uid: 'o1',
  unionId: { platform: 'weixin', uid: 'u', isMain: false },
};
const names = (linked: LinkedIdentities | null) => [...(linked?.keys() ?? [])];
const without = { link: [], unlink: [], unproven: [] };

describe('linkIdentities', () => {
  it('merges entry by entry', () => {
    const linked = linkIdentities(linkIdentities(null, [weibo('1')]), [main]);
    expect(names(linked)).toEqual(['weibo', 'weixin', '_weixin_unionid']);
    expect(linked.get('_weixin_unionid')).toEqual({ uid: 'u', kind: 'weixin', isVerified: true, entry: { uid: 'u' } });
  });

  it('makes the entry of a union id for a main account only', () => {
    expect(names(linkIdentities(null, [secondary]))).toEqual(['weixin_1']);
  });

  it('replaces an entry by a newer one, and keeps the proof of the same account', () => {
    const before = linkIdentities(null, [weibo('1', { isVerified: true })]);
    const newer = weibo('1', { entry: { uid: '1', access_token: 'new' } });
    expect(linkIdentities(before, [newer]).get('weibo')).toMatchObject({
      isVerified: true,
      entry: { access_token: 'new' },
    });
    expect(linkIdentities(before, [weibo('2')]).get('weibo')).toMatchObject({ uid: '2', isVerified: false });
  });

  it('keeps a proof with the kind of platform that gave it, where the owner sends the account as another kind', () => {
    const { kind: _, unionId: _unionId, ...plain } = { ...secondary, isVerified: false };
    const before = linkIdentities(null, [main, secondary]);
    expect(linkIdentities(before, [plain]).get('weixin_1')).toMatchObject({ kind: 'weixin', isVerified: true });
    const other = weibo('1', { unionId: { platform: 'weixin', uid: 'u', isMain: true } });
    expect(linkIdentities(before, [other]).get('_weixin_unionid')).toMatchObject({ kind: 'weixin', isVerified: true });
  });

  it('counts a proof for the entry of a union id, whichever account brings it', () => {
    const before = linkIdentities(null, [{ ...main, isVerified: false }]);
    expect(before.get('_weixin_unionid')).toMatchObject({ isVerified: false });
    expect(linkIdentities(before, [secondary]).get('_weixin_unionid')).toMatchObject({ isVerified: true });
  });

  it('keeps the union id of an account where a later login does not send it', () => {
    const { unionId: _, ...plain } = main;
    const linked = linkIdentities(linkIdentities(null, [main]), [plain]);
    expect(names(pruneIdentities(linked, false))).toContain('_weixin_unionid');
  });
});

describe('isFirstProof', () => {
  const believed = linkIdentities(null, [{ ...main, isVerified: false }]);

  it('sees an account, or a union id, that was unverified so far', () => {
    const { unionId: _, ...plain } = main;
    expect(isFirstProof(believed, [plain])).toBe(true);
    expect(isFirstProof(believed, [secondary])).toBe(true);
  });

  it('sees none in a new identity, in a verified one, and in an unverified one', () => {
    expect(isFirstProof(null, [main])).toBe(false);
    expect(isFirstProof(believed, [weibo('1', { isVerified: true })])).toBe(false);
    expect(isFirstProof(linkIdentities(believed, [main]), [main, secondary])).toBe(false);
    expect(isFirstProof(believed, [{ ...main, isVerified: false }])).toBe(false);
  });
});

describe('isLinkedAlready', () => {
  it('sees through the order of members', () => {
    const linked = linkIdentities(null, [weibo('1', { entry: { uid: '1', a: 1 } }), main]);
    expect(isLinkedAlready(linked, [weibo('1', { entry: { a: 1, uid: '1' } })])).toBe(true);
    expect(isLinkedAlready(linked, [main])).toBe(true);
  });

  it('sees what is new', () => {
    const linked = linkIdentities(null, [weibo('1')]);
    expect(isLinkedAlready(linked, [weibo('1', { entry: { uid: '1', access_token: 'new' } })])).toBe(false);
    expect(isLinkedAlready(linked, [weibo('1', { isVerified: true })])).toBe(false);
    expect(isLinkedAlready(linked, [weibo('1'), anonymous])).toBe(false);
    expect(isLinkedAlready(null, [anonymous])).toBe(false);
  });

  it('does not mind which of a platform’s kinds proves a union id', () => {
    const ofMiniProgram: Identity = { ...secondary, platform: 'lc_weapp', kind: 'lc_weapp' };
    const linked = linkIdentities(null, [main, ofMiniProgram]);
    expect(isLinkedAlready(linked, [ofMiniProgram])).toBe(true);
    expect(isLinkedAlready(linked, [main])).toBe(true);
  });

  it('does not mind that a proof is not repeated', () => {
    expect(isLinkedAlready(linkIdentities(null, [weibo('1', { isVerified: true })]), [weibo('1')])).toBe(true);
  });
});

describe('pruneIdentities', () => {
  it('drops the anonymous entry as soon as there is another login method', () => {
    const linked = linkIdentities(null, [anonymous]);
    expect(pruneIdentities(linked, false)).toBe(linked);
    expect(names(pruneIdentities(linked, true))).toEqual([]);
    expect(names(pruneIdentities(linkIdentities(linked, [weibo('1')]), false))).toEqual(['weibo']);
  });

  it('drops the entry of a union id with the last account that carries it', () => {
    const both = linkIdentities(linkIdentities(null, [main]), [secondary]);
    const one = changeIdentities(both, { ...without, unlink: ['weixin'] });
    expect(names(pruneIdentities(one, false))).toEqual(['_weixin_unionid', 'weixin_1']);
    const none = changeIdentities(one, { ...without, unlink: ['weixin_1'] });
    expect(names(pruneIdentities(none, false))).toEqual([]);
  });

  it('drops the entry of a union id that no account carries any more, though one carries another', () => {
    const another: Identity = { ...secondary, unionId: { platform: 'weixin', uid: 'another', isMain: true } };
    const replacing = linkIdentities(linkIdentities(null, [main]), [another]);
    const unlinked = changeIdentities(replacing, { ...without, unlink: ['weixin_1'] });
    expect(names(pruneIdentities(unlinked, false))).toEqual(['weixin']);
    const replaced = linkIdentities(linkIdentities(null, [main]), [
      { ...main, uid: 'new', unionId: { platform: 'weixin', uid: 'another', isMain: false } },
    ]);
    expect(names(pruneIdentities(replaced, false))).toEqual(['weixin']);
  });

  it('keeps the entry of a union id for imported accounts, which name the entry alone', () => {
    const [account, entry] = [
      { uid: 'o', isVerified: true, entry: {}, unionIdEntry: '_weixin_unionid' },
      { uid: 'u', isVerified: true, entry: {} },
    ];
    const imported = new Map(Object.entries({ weixin: account, _weixin_unionid: entry }));
    expect(pruneIdentities(imported, false)).toBe(imported);
  });

  it('leaves a user without links unchanged', () => {
    expect(pruneIdentities(null, true)).toBeNull();
  });

  it('refuses too many and too large entries', () => {
    const many = Array.from({ length: 51 }, (_, index) => weibo('1', { platform: `p${index}` }));
    const large = weibo('1', { entry: { uid: '1', token: 'x'.repeat(64 * 1024) } });
    for (const identities of [many, [large]])
      expect(() => pruneIdentities(linkIdentities(null, identities), false)).toThrow(
        expect.objectContaining({ errorName: 'OBJECT_TOO_LARGE' }) as Error,
      );
  });
});

describe('changeIdentities', () => {
  const error = { kind: 'AppError', name: 'INVALID_IDENTITY', code: 251, status: 400, message: 'no' } as const;

  it('unlinks existing entries, and ignores missing ones', () => {
    const linked = linkIdentities(null, [weibo('1')]);
    expect(names(changeIdentities(linked, { ...without, unlink: ['weibo', 'qq'] }))).toEqual([]);
    expect(names(changeIdentities(null, { ...without, unlink: ['qq'] }))).toEqual([]);
  });

  it('accepts without a proof what the user has already, as stored', () => {
    const linked = linkIdentities(null, [weibo('1')]);
    const unproven = [{ platform: 'weibo', uid: '1', error }];
    expect(changeIdentities(linked, { ...without, unproven })).toEqual(linked);
  });

  it.each([
    ['another account', { platform: 'weibo', uid: '2', error }],
    ['no account', { platform: 'weibo', error }],
    ['another platform', { platform: 'qq', uid: '1', error }],
  ])('throws the error of an unproven identity where the user has %s', (_, unproven) => {
    const linked = linkIdentities(null, [weibo('1')]);
    expect(() => changeIdentities(linked, { ...without, unproven: [unproven] })).toThrow(
      expect.objectContaining({ code: 251 }) as Error,
    );
  });
});

describe('keysOf', () => {
  it('names own ids and union ids', () => {
    expect(keysOf([main, anonymous])).toEqual([
      { platform: 'weixin', uid: 'o' },
      { platform: '_weixin_unionid', uid: 'u' },
      { platform: 'anonymous', uid: 'x' },
    ]);
  });
});

const A = { objectId: 'a' };
const B = { objectId: 'b' };

const weixin = (uid: string, unionId?: Identity['unionId']): Identity => ({
  platform: 'weixin',
  kind: 'weixin',
  uid,
  isVerified: false,
  entry: { openid: uid },
  ...(unionId === undefined ? {} : { unionId }),
});
const weiboAccount: Identity = { platform: 'weibo', kind: 'weibo', uid: 'w', isVerified: false, entry: { uid: 'w' } };
const union = (uid: string, isMain = false) => ({ platform: 'weixin', uid, isMain });
const owned = (
  platform: string,
  uid: string,
  user: { readonly objectId: string },
  { kind = 'weixin', isVerified = false }: { kind?: PlatformKind | null; isVerified?: boolean } = {},
): OwnedIdentity<{ readonly objectId: string }> => ({ platform, uid, user, kind, isVerified });
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('findOwner', () => {
  it('finds no user where no user has any of them', () => {
    expect(findOwner([weixin('1')], [])).toBeUndefined();
  });

  it('finds the user who has one, and gives it the others', () => {
    const identities = [weixin('1'), weiboAccount];
    expect(findOwner(identities, [owned('weibo', 'w', A, { kind: 'weibo' })])).toEqual({ user: A, identities });
  });

  it('refuses identities of two users', () => {
    const both = [owned('weixin', '1', A), owned('weibo', 'w', B, { kind: 'weibo' })];
    expect(() => findOwner([weixin('1'), weiboAccount], both)).toThrow(refused('IDENTITY_TAKEN'));
  });

  it('lets a known union id take precedence over the entry that carries it, which stays where it is', () => {
    const both = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B)];
    expect(findOwner([weixin('1', union('u'))], both)).toEqual({ user: B, identities: [] });
    expect(findOwner([weixin('1', union('u', true))], both)).toEqual({ user: B, identities: [] });
  });

  it('does not let an unverified union id take precedence over a proof', () => {
    const { unionId: _, ...own } = { ...weixin('1'), isVerified: true };
    const proven = { ...own, unionId: union('u', true) };
    const believed = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B)];
    expect(findOwner([proven], believed)).toEqual({ user: A, identities: [own] });
    const confirmed = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B, { isVerified: true })];
    expect(findOwner([proven], confirmed)?.user).toBe(B);
    const same = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', A)];
    expect(findOwner([proven], same)).toEqual({ user: A, identities: [proven] });
  });

  it('finds a user by a union id alone', () => {
    const identities = [weixin('2', union('u'))];
    expect(findOwner(identities, [owned('_weixin_unionid', 'u', B)])).toEqual({ user: B, identities });
  });

  it('takes union ids of mini programs and of their platform for the same', () => {
    const mini: Identity = { ...weixin('m', union('u')), platform: 'lc_weapp', kind: 'lc_weapp' };
    expect(findOwner([mini], [owned('_weixin_unionid', 'u', B)])?.user).toBe(B);
  });

  it('refuses a union id that another platform gave out under the same name', () => {
    const other: Identity = { ...weiboAccount, unionId: { platform: 'group', uid: 'u', isMain: false } };
    const known = [owned('_group_unionid', 'u', B)];
    expect(() => findOwner([other], known)).toThrow(refused('INVALID_IDENTITY'));
  });

  it('refuses a verified account as one of another kind', () => {
    const custom: Identity = { platform: 'weixin_1', uid: '1', isVerified: false, entry: { uid: '1' } };
    const verified = owned('weixin_1', '1', A, { isVerified: true });
    expect(() => findOwner([custom], [verified])).toThrow(refused('INVALID_IDENTITY'));
    expect(findOwner([{ ...custom, kind: 'weixin' }], [verified])?.user).toBe(A);
    expect(findOwner([custom], [owned('weixin_1', '1', A)])?.user).toBe(A);
  });
});
