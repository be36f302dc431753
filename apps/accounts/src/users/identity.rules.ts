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
import type { LinkedIdentities, LinkedIdentity, UserRow } from './user.rules.js';

const MAX_LINKED = 50;
const MAX_LINKED_BYTES = 64 * 1024;

/** A platform and a user id there, unique among the users of an application. */
export interface IdentityKey {
  readonly platform: string;
  readonly uid: string;
}

function unionIdKeyOf({ unionId }: Identity): IdentityKey | undefined {
  return unionId === undefined ? undefined : { platform: unionIdEntryName(unionId.platform), uid: unionId.uid };
}

export function keysOf(identities: readonly Identity[]): IdentityKey[] {
  return identities.flatMap((identity) => {
    const { platform, uid } = identity;
    const unionId = unionIdKeyOf(identity);
    return unionId === undefined ? [{ platform, uid }] : [{ platform, uid }, unionId];
  });
}

/** Merges the identities entry by entry; other entries stay (specification, authData). */
export function linkIdentities(linked: LinkedIdentities | null, identities: readonly Identity[]): LinkedIdentities {
  const result = new Map(linked ?? []);
  for (const identity of identities) {
    const { platform, uid, unionId } = identity;
    result.set(platform, linkedIdentity(identity, sameAccount(linked, { platform, uid })));
    if (unionId === undefined) continue;
    const entryName = unionIdEntryName(unionId.platform);
    const known = sameAccount(linked, { platform: entryName, uid: unionId.uid });
    // Only a main account creates the entry; every account of the union id can verify it.
    if (unionId.isMain || known !== undefined) result.set(entryName, linkedUnionId(identity, unionId.uid, known));
  }
  return result;
}

function sameAccount(linked: LinkedIdentities | null, { platform, uid }: IdentityKey): LinkedIdentity | undefined {
  const known = linked?.get(platform);
  return known?.uid === uid ? known : undefined;
}

/** @param known the same account as linked before: it keeps its proof and its union id */
function linkedIdentity(identity: Identity, known: LinkedIdentity | undefined): LinkedIdentity {
  const { uid, entry } = identity;
  const key = unionIdKeyOf(identity);
  const carried = key === undefined ? known : { unionIdEntry: key.platform, unionId: key.uid };
  return {
    uid,
    ...proofOf(identity, known),
    entry,
    ...(carried?.unionIdEntry === undefined ? {} : { unionIdEntry: carried.unionIdEntry }),
    ...(carried?.unionId === undefined ? {} : { unionId: carried.unionId }),
  };
}

/** A verified entry stays unchanged: a mini program and its platform verify the same union id in turn. */
function linkedUnionId(identity: Identity, uid: string, known: LinkedIdentity | undefined): LinkedIdentity {
  return known?.isVerified === true ? known : { uid, ...proofOf(identity, known), entry: { uid } };
}

/** A proof stays with the kind of its platform: under another kind the account could be claimed without a proof. */
function proofOf(identity: Identity, known: LinkedIdentity | undefined): Pick<LinkedIdentity, 'kind' | 'isVerified'> {
  const isKept = known?.isVerified === true && !identity.isVerified;
  const { kind, isVerified } = isKept ? known : identity;
  return { ...(kind === undefined ? {} : { kind }), isVerified };
}

export function changeIdentities(linked: LinkedIdentities | null, changes: IdentityChanges): LinkedIdentities {
  for (const unproven of changes.unproven) assertLinked(linked, unproven);
  const result = new Map(linkIdentities(linked, changes.link));
  for (const platform of changes.unlink) result.delete(platform);
  return result;
}

/** Drops an anonymous entry beside other credentials (decisions), and union ids without an account. @throws AppError OBJECT_TOO_LARGE */
export function pruneIdentities(linked: LinkedIdentities | null, hasPassword: boolean): LinkedIdentities | null {
  if (linked === null) return null;
  const others = [...linked].filter(
    ([platform, { uid }]) =>
      platform !== ANONYMOUS_PLATFORM && (!isUnionIdEntryName(platform) || isCarried(linked, { platform, uid })),
  );
  const isAnonymous = linked.has(ANONYMOUS_PLATFORM) && !hasPassword && others.length === 0;
  const result = isAnonymous ? [...linked].filter(([platform]) => platform === ANONYMOUS_PLATFORM) : others;
  assertSize(result);
  return result.length === linked.size ? linked : new Map(result);
}

function isCarried(linked: LinkedIdentities, { platform, uid }: IdentityKey): boolean {
  return [...linked.values()].some(({ unionIdEntry, unionId = uid }) => unionIdEntry === platform && unionId === uid);
}

/** Whether a platform now verifies an account or union id that was linked without a proof. */
export function isFirstProof(linked: LinkedIdentities | null, identities: readonly Identity[]): boolean {
  const proven = identities.filter(({ isVerified }) => isVerified);
  return keysOf(proven).some((key) => sameAccount(linked, key)?.isVerified === false);
}

export function isLinkedAlready(linked: LinkedIdentities | null, identities: readonly Identity[]): boolean {
  return [...linkIdentities(linked, identities)].every(([platform, identity]) =>
    isSame(identity, linked?.get(platform)),
  );
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

type Linked = Pick<UserRow, 'identities'>;

export function assertStillTheirs(identities: readonly Identity[], found: Linked, current: Linked): void {
  const isUnlinked = keysOf(identities).some(
    ({ platform, uid }) =>
      found.identities?.get(platform)?.uid === uid && current.identities?.get(platform)?.uid !== uid,
  );
  if (isUnlinked) throw appError('IDENTITY_TAKEN');
}

export interface OwnedIdentity<User> extends IdentityKey {
  readonly kind: PlatformKind | null;
  readonly isVerified: boolean;
  readonly user: User;
}

export interface Ownership<User> {
  readonly user: User;
  readonly identities: readonly Identity[];
}

/** A known union id wins over the entry that carries it, which stays with its user (decisions, union id). @throws AppError IDENTITY_TAKEN */
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

/** The user of the account by its own id and by its union id. An unverified union id does not take precedence over a proof. */
function ownersOf<User extends { readonly objectId: string }>(
  identity: Identity,
  owned: readonly OwnedIdentity<User>[],
) {
  const own = findOwn(identity, owned)?.user;
  const known = findByUnionId(identity, owned);
  const isUnverifiedClaim = known?.isVerified === false && known.user.objectId !== own?.objectId;
  if (own === undefined || !identity.isVerified || !isUnverifiedClaim) return { identity, own, byUnionId: known?.user };
  const { unionId: _, ...proven } = identity;
  return { identity: proven, own, byUnionId: undefined };
}

function find<User>(
  key: IdentityKey | undefined,
  owned: readonly OwnedIdentity<User>[],
): OwnedIdentity<User> | undefined {
  return owned.find(({ platform, uid }) => platform === key?.platform && uid === key.uid);
}

function findOwn<User>(identity: Identity, owned: readonly OwnedIdentity<User>[]): OwnedIdentity<User> | undefined {
  const found = find(identity, owned);
  const isDowngrade = found?.isVerified === true && !identity.isVerified && found.kind !== (identity.kind ?? null);
  if (isDowngrade)
    throw appError('INVALID_IDENTITY', {
      message: `Invalid authData of ${identity.platform}: the account is not verified.`,
    });
  return found;
}

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
