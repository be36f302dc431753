import { type Identity, type PlatformKind, unionIdFamily } from '#contracts';
import { appError } from '#errors';
import { type IdentityKey, unionIdKeyOf } from './identity.rules.js';

/** An identity that somebody has. */
export interface OwnedIdentity<User> extends IdentityKey {
  readonly kind: PlatformKind | null;
  readonly isVerified: boolean;
  readonly user: User;
}

/** Whom identities let in, and which of them it shall have from then on. */
export interface Ownership<User> {
  readonly user: User;
  readonly identities: readonly Identity[];
}

/**
 * Finds the one user that the identities of a request belong to. A union id that is known wins over the entry that
 * carries it: if that entry is another user's, it stays there (decisions, union id).
 * @returns undefined where nobody has any of them. @throws AppError IDENTITY_TAKEN where they belong to several users
 */
export function findOwner<User extends { readonly objectId: string }>(
  identities: readonly Identity[],
  owned: readonly OwnedIdentity<User>[],
): Ownership<User> | undefined {
  const owners = identities.map((identity) => ownersOf(identity, owned));
  const users = owners.flatMap(({ own, byUnionId }) => byUnionId ?? own ?? []);
  const [user] = users;
  if (user === undefined) return undefined;
  if (users.some(({ objectId }) => objectId !== user.objectId)) throw appError('IDENTITY_TAKEN');
  const linked = owners.filter(({ own }) => own === undefined || own.objectId === user.objectId);
  return { user, identities: linked.map(({ identity }) => identity) };
}

/** Whose the account is by its own id, and by its union id. A mere word for a union id does not win over a proof. */
function ownersOf<User extends { readonly objectId: string }>(
  identity: Identity,
  owned: readonly OwnedIdentity<User>[],
) {
  const own = findOwn(identity, owned)?.user;
  const known = findByUnionId(identity, owned);
  const isMereWord = known?.isVerified === false && known.user.objectId !== own?.objectId;
  if (own === undefined || !identity.isVerified || !isMereWord) return { identity, own, byUnionId: known?.user };
  const { unionId: _, ...proven } = identity;
  return { identity: proven, own, byUnionId: undefined };
}

function find<User>(
  key: IdentityKey | undefined,
  owned: readonly OwnedIdentity<User>[],
): OwnedIdentity<User> | undefined {
  return owned.find(({ platform, uid }) => platform === key?.platform && uid === key.uid);
}

/**
 * @throws AppError INVALID_IDENTITY where a platform once confirmed it, and this request took it for another kind: so a key
 * of the application's own cannot be claimed by leaving out what it is
 */
function findOwn<User>(identity: Identity, owned: readonly OwnedIdentity<User>[]): OwnedIdentity<User> | undefined {
  const found = find(identity, owned);
  const isDowngrade = found?.isVerified === true && !identity.isVerified && found.kind !== (identity.kind ?? null);
  if (isDowngrade)
    throw appError('INVALID_IDENTITY', {
      message: `Invalid authData of ${identity.platform}: the account is not verified.`,
    });
  return found;
}

/** @throws AppError INVALID_IDENTITY where the union id came by a platform that gives out other union ids */
function findByUnionId<User>(
  identity: Identity,
  owned: readonly OwnedIdentity<User>[],
): OwnedIdentity<User> | undefined {
  const found = find(unionIdKeyOf(identity), owned);
  if (found === undefined || familyOf(found.kind) === familyOf(identity.kind)) return found;
  throw appError('INVALID_IDENTITY', {
    message: `Invalid authData of ${identity.platform}: its union id belongs to another platform.`,
  });
}

function familyOf(kind: PlatformKind | null | undefined): PlatformKind | undefined {
  return kind === null || kind === undefined ? undefined : unionIdFamily(kind);
}
