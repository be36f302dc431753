import {
  ANONYMOUS_PLATFORM,
  type Identity,
  type IdentityChanges,
  isUnionIdEntryName,
  type JsonObject,
  type PlatformKind,
  unionIdEntryName,
  unionIdFamily,
  type UnprovenIdentity,
} from '#contracts';
import { appError, fromWireError } from '#errors';
import { canonicalText } from '#objects';
import type { LinkedIdentities, LinkedIdentity } from './user.rules.js';

const MAX_LINKED = 50;
const MAX_LINKED_BYTES = 64 * 1024;

/** A platform and an id there: what one user alone can have. */
export interface IdentityKey {
  readonly platform: string;
  readonly uid: string;
}

function unionIdKeyOf({ unionId }: Identity): IdentityKey | undefined {
  return unionId === undefined ? undefined : { platform: unionIdEntryName(unionId.platform), uid: unionId.uid };
}

/** All that the identities can be known by: their own ids and their union ids. */
export function keysOf(identities: readonly Identity[]): IdentityKey[] {
  return identities.flatMap((identity) => {
    const { platform, uid } = identity;
    const unionId = unionIdKeyOf(identity);
    return unionId === undefined ? [{ platform, uid }] : [{ platform, uid }, unionId];
  });
}

/** With what was proven, entry by entry; the others stay (specification, authData). */
export function link(linked: LinkedIdentities | null, identities: readonly Identity[]): LinkedIdentities {
  const result = new Map(linked ?? []);
  for (const identity of identities) {
    const { platform, uid, unionId } = identity;
    result.set(platform, linkedIdentity(identity, sameAccount(linked, { platform, uid })));
    if (unionId === undefined) continue;
    const entryName = unionIdEntryName(unionId.platform);
    const known = sameAccount(linked, { platform: entryName, uid: unionId.uid });
    // Only a main account makes the entry; a proof of the union id counts for it whoever brings it.
    if (unionId.isMain || known !== undefined) result.set(entryName, linkedUnionId(identity, unionId.uid, known));
  }
  return result;
}

function sameAccount(linked: LinkedIdentities | null, { platform, uid }: IdentityKey): LinkedIdentity | undefined {
  const known = linked?.get(platform);
  return known?.uid === uid ? known : undefined;
}

/** @param known the same account as it was linked before: a proof and a union id that it had, it keeps */
function linkedIdentity(identity: Identity, known: LinkedIdentity | undefined): LinkedIdentity {
  const { uid, entry, unionId } = identity;
  const unionIdEntry = unionId === undefined ? known?.unionIdEntry : unionIdEntryName(unionId.platform);
  return { uid, ...proofOf(identity, known), entry, ...(unionIdEntry === undefined ? {} : { unionIdEntry }) };
}

/** Once proven it stays as it is: a mini program and its platform prove the same union id in turn. */
function linkedUnionId(identity: Identity, uid: string, known: LinkedIdentity | undefined): LinkedIdentity {
  return known?.isVerified === true ? known : { uid, ...proofOf(identity, known), entry: { uid } };
}

/** A proof stays with the kind of platform that gave it: as another kind the account could be claimed without one. */
function proofOf(identity: Identity, known: LinkedIdentity | undefined): Pick<LinkedIdentity, 'kind' | 'isVerified'> {
  const isKept = known?.isVerified === true && !identity.isVerified;
  const { kind, isVerified } = isKept ? known : identity;
  return { ...(kind === undefined ? {} : { kind }), isVerified };
}

/** What an update makes of them. @throws AppError what is said against an unproven identity that the user does not have */
export function change(linked: LinkedIdentities | null, changes: IdentityChanges): LinkedIdentities {
  for (const unproven of changes.unproven) assertLinked(linked, unproven);
  const result = new Map(link(linked, changes.link));
  for (const platform of changes.unlink) result.delete(platform);
  return result;
}

/**
 * What is left of them once a change is done: the anonymous entry only where the user has no other way in (decisions), the
 * entry of a union id only while an account that carries it is there.
 * @throws AppError OBJECT_TOO_LARGE
 */
export function settle(linked: LinkedIdentities | null, hasPassword: boolean): LinkedIdentities | null {
  if (linked === null) return null;
  const carried = new Set([...linked.values()].map(({ unionIdEntry }) => unionIdEntry));
  const others = [...linked].filter(
    ([platform]) => platform !== ANONYMOUS_PLATFORM && (!isUnionIdEntryName(platform) || carried.has(platform)),
  );
  const isAnonymous = linked.has(ANONYMOUS_PLATFORM) && !hasPassword && others.length === 0;
  const result = isAnonymous ? [...linked].filter(([platform]) => platform === ANONYMOUS_PLATFORM) : others;
  assertSize(result);
  return result.length === linked.size ? linked : new Map(result);
}

/** Whether a platform now confirms an account, or a union id, that the user came to without a proof. */
export function isFirstProof(linked: LinkedIdentities | null, identities: readonly Identity[]): boolean {
  const proven = identities.filter(({ isVerified }) => isVerified);
  return keysOf(proven).some((key) => sameAccount(linked, key)?.isVerified === false);
}

/** Whether linking them would change nothing: each is stored as it was sent. */
export function isLinkedAlready(linked: LinkedIdentities | null, identities: readonly Identity[]): boolean {
  return [...link(linked, identities)].every(([platform, identity]) => isSame(identity, linked?.get(platform)));
}

function isSame(one: LinkedIdentity, other: LinkedIdentity | undefined): boolean {
  return one === other || (other !== undefined && textOf(one) === textOf(other));
}

function textOf(identity: LinkedIdentity): string {
  return canonicalText(identity as unknown as JsonObject);
}

function assertLinked(linked: LinkedIdentities | null, { platform, uid, error }: UnprovenIdentity): void {
  if (uid === undefined || linked?.get(platform)?.uid !== uid) throw fromWireError(error);
}

function assertSize(linked: readonly (readonly [string, LinkedIdentity])[]): void {
  const isTooMuch = linked.length > MAX_LINKED || Buffer.byteLength(JSON.stringify(linked)) > MAX_LINKED_BYTES;
  if (isTooMuch) throw appError('OBJECT_TOO_LARGE', { message: 'authData is too large.' });
}

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
