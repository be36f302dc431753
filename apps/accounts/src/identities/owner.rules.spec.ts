import { describe, expect, it } from 'vitest';
import type { Identity, PlatformKind } from '#contracts';
import { findOwner, type OwnedIdentity } from './owner.rules.js';

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
const weibo: Identity = { platform: 'weibo', kind: 'weibo', uid: 'w', isVerified: false, entry: { uid: 'w' } };
const union = (uid: string, isMain = false) => ({ platform: 'weixin', uid, isMain });
const owned = (
  platform: string,
  uid: string,
  user: { readonly objectId: string },
  { kind = 'weixin', isVerified = false }: { kind?: PlatformKind | null; isVerified?: boolean } = {},
): OwnedIdentity<{ readonly objectId: string }> => ({ platform, uid, user, kind, isVerified });
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('findOwner', () => {
  it('finds nobody where nobody has any of them', () => {
    expect(findOwner([weixin('1')], [])).toBeUndefined();
  });

  it('finds the user who has one, and gives it the others', () => {
    const identities = [weixin('1'), weibo];
    expect(findOwner(identities, [owned('weibo', 'w', A, { kind: 'weibo' })])).toEqual({ user: A, identities });
  });

  it('refuses identities of two users', () => {
    const both = [owned('weixin', '1', A), owned('weibo', 'w', B, { kind: 'weibo' })];
    expect(() => findOwner([weixin('1'), weibo], both)).toThrow(refused('IDENTITY_TAKEN'));
  });

  it('lets a known union id win over the entry that carries it, which stays where it is', () => {
    const both = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B)];
    expect(findOwner([weixin('1', union('u'))], both)).toEqual({ user: B, identities: [] });
    expect(findOwner([weixin('1', union('u', true))], both)).toEqual({ user: B, identities: [] });
  });

  it('does not let a mere word for a union id win over a proof', () => {
    const { unionId: _, ...own } = { ...weixin('1'), isVerified: true };
    const proven = { ...own, unionId: union('u', true) };
    const believed = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B)];
    expect(findOwner([proven], believed)).toEqual({ user: A, identities: [own] });
    const confirmed = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', B, { isVerified: true })];
    expect(findOwner([proven], confirmed)?.user).toBe(B);
    const same = [owned('weixin', '1', A), owned('_weixin_unionid', 'u', A)];
    expect(findOwner([proven], same)).toEqual({ user: A, identities: [proven] });
  });

  it('knows a user by a union id alone', () => {
    const identities = [weixin('2', union('u'))];
    expect(findOwner(identities, [owned('_weixin_unionid', 'u', B)])).toEqual({ user: B, identities });
  });

  it('takes union ids of mini programs and of their platform for the same', () => {
    const mini: Identity = { ...weixin('m', union('u')), platform: 'lc_weapp', kind: 'lc_weapp' };
    expect(findOwner([mini], [owned('_weixin_unionid', 'u', B)])?.user).toBe(B);
  });

  it('refuses a union id that another platform gave out under the same name', () => {
    const other: Identity = { ...weibo, unionId: { platform: 'group', uid: 'u', isMain: false } };
    const known = [owned('_group_unionid', 'u', B)];
    expect(() => findOwner([other], known)).toThrow(refused('INVALID_IDENTITY'));
  });

  it('refuses to believe of a verified account that it is of another kind', () => {
    const custom: Identity = { platform: 'weixin_1', uid: '1', isVerified: false, entry: { uid: '1' } };
    const verified = owned('weixin_1', '1', A, { isVerified: true });
    expect(() => findOwner([custom], [verified])).toThrow(refused('INVALID_IDENTITY'));
    expect(findOwner([{ ...custom, kind: 'weixin' }], [verified])?.user).toBe(A);
    expect(findOwner([custom], [owned('weixin_1', '1', A)])?.user).toBe(A);
  });
});
