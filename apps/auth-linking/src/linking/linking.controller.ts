import { Controller } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import {
  accountsRpc,
  authLinkingRpc,
  type Caller,
  type Identity,
  type IdentityChanges,
  isUnionIdEntryName,
  type JsonObject,
  MAX_IDENTITIES,
  objectsRpc,
  type ObjectWrite,
  type PlatformKind,
  type RpcData,
  type RpcReply,
  unionIdFamily,
  type UnprovenIdentity,
} from '#contracts';
import { AppError, appError, toWireError } from '#errors';
import { forward, type Forwarded, RpcHandler } from '#messaging';
import { CredentialsService } from '../credentials/credentials.service.js';
import { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import { type Proof, refusal, requireUid } from '../platforms/platform.rules.js';
import {
  assertUnguessable,
  type AuthData,
  parseAuthData,
  type ReadClaim,
  readClaim,
  readUnionId,
} from './claim.rules.js';

type Rpc = typeof authLinkingRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<Forwarded<RpcReply<Rpc[Name]>>>;

interface ReadWrite {
  readonly write: ObjectWrite;
  readonly authData: AuthData | undefined;
}

interface KnownClaim extends ReadClaim {
  readonly kind: PlatformKind;
}

/** Verifies the `authData` of a request, and forwards the request to accounts with the verified identities. */
@Controller()
export class LinkingController {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly verifiers: PlatformVerifiers,
    private readonly applications: ApplicationDirectory,
  ) {}

  /** @throws AppError as `prove` for any entry: a login needs all of its entries verified */
  @RpcHandler(authLinkingRpc.signUpOrLogIn)
  async signUpOrLogIn({ caller, fields: body, failOnNotExist }: Data<'signUpOrLogIn'>): Reply<'signUpOrLogIn'> {
    const { fields, ...authData } = parseAuthData(body);
    const entries = claimedEntries(authData);
    if (entries.length === 0) return forward(accountsRpc.signUp, { caller, fields });
    const identities = await Promise.all(
      entries.map(async ([platform, entry]) => this.#prove(caller, await this.#read(caller, platform, entry))),
    );
    return forward(accountsRpc.signUpOrLogInByIdentity, { caller, fields, identities, failOnNotExist });
  }

  @RpcHandler(authLinkingRpc.updateUser)
  async updateUser({ caller, changes: body, ...write }: Data<'updateUser'>): Reply<'updateUser'> {
    const authData = parseAuthData(body);
    const identities = await this.#changesOf(caller, authData);
    return forward(accountsRpc.updateUser, { ...write, caller, changes: authData.fields, identities });
  }

  @RpcHandler(authLinkingRpc.saveAll)
  async saveAll({ caller, writes }: Data<'saveAll'>): Reply<'saveAll'> {
    const read = writes.map(readWrite);
    const count = read.reduce((sum, { authData }) => sum + (authData?.entries.length ?? 0), 0);
    if (count > MAX_IDENTITIES)
      throw appError('NOT_SUPPORTED', {
        message: `A batch save may link at most ${MAX_IDENTITIES} third-party accounts.`,
      });
    const proven = await Promise.all(read.map((each) => this.#proveWrite(caller, each)));
    return forward(objectsRpc.saveAll, { caller, writes: proven });
  }

  async #proveWrite(caller: Caller, { write, authData }: ReadWrite): Promise<ObjectWrite> {
    if (authData === undefined) return write;
    const { entries, removed, fields } = authData;
    if (entries.length === 0 && removed.length === 0) return { ...write, fields };
    if (write.objectId === undefined && entries.length > 0)
      throw appError('NOT_SUPPORTED', {
        message: 'A batch save cannot log in: send a separate sign-up request with authData.',
      });
    return { ...write, fields, identities: await this.#changesOf(caller, authData) };
  }

  /** Sends unproven entries with their errors, because SDKs resend entries that the user already has. */
  async #changesOf(caller: Caller, authData: AuthData): Promise<IdentityChanges> {
    const { removed } = authData;
    if (!caller.isMaster) removed.forEach(assertNotReserved);
    const claimed = claimedEntries(authData);
    const outcomes = await Promise.all(claimed.map(([platform, entry]) => this.#tryToProve(caller, platform, entry)));
    return {
      link: outcomes.filter(isProven),
      unproven: outcomes.filter(isUnproven),
      unlink: [...removed],
    };
  }

  async #tryToProve(caller: Caller, platform: string, entry: JsonObject): Promise<Identity | UnprovenIdentity> {
    const claim = await this.#read(caller, platform, entry);
    return this.#prove(caller, claim).catch((error: unknown) => unproven(claim, error));
  }

  async #read({ appId }: Caller, platform: string, entry: JsonObject): Promise<ReadClaim> {
    return readClaim(platform, entry, (await this.credentials.kinds(appId)).get(platform));
  }

  /** Without credentials a claim passes unverified (specification, "other platforms"), unless `requireVerifiedPlatforms` forbids it. */
  async #prove({ appId }: Caller, claim: ReadClaim): Promise<Identity> {
    assertNotReserved(claim.platform);
    if (isKnown(claim)) {
      const proof = await this.#askPlatform(appId, claim);
      if (proof !== undefined) return verified(claim, proof);
      await this.#assertMayBeUnverified(appId, claim);
    }
    return unverified(claim);
  }

  async #askPlatform(appId: string, claim: KnownClaim): Promise<Proof | undefined> {
    const credentials = await this.credentials.find(appId, claim.platform, claim.kind);
    if (credentials === undefined) return undefined;
    const proof = await this.verifiers.of(claim.kind).verify(claim, credentials);
    if (claim.uid !== undefined && claim.uid !== proof.uid)
      throw refused(claim, 'the platform confirms another account');
    return proof;
  }

  async #assertMayBeUnverified(appId: string, claim: KnownClaim): Promise<void> {
    const application = await this.applications.find(appId);
    if (application === null) throw appError('SERVICE_UNAVAILABLE');
    if (application.settings.requireVerifiedPlatforms)
      throw refused(claim, 'the setting requireVerifiedPlatforms is on, but no credentials are set for this platform');
    if (claim.uid === undefined && 'code' in claim.entry)
      throw refused(claim, 'its code cannot be exchanged, because no credentials are set for this platform');
    if (readUnionId(claim, undefined) !== undefined && (await this.#isFamilyVerified(appId, claim.kind)))
      throw refused(claim, 'its union id is accepted only if the platform confirms it');
  }

  /** Whether a platform with the same union ids is verified: an unverified claim must not open accounts of its users. */
  async #isFamilyVerified(appId: string, kind: PlatformKind): Promise<boolean> {
    const configured = await this.credentials.kinds(appId);
    return [...configured.values()].some((other) => unionIdFamily(other) === unionIdFamily(kind));
  }
}

/** Without the entry of a union id beside others: SDKs resend all authData that they know, also one that an unlinking has removed. */
function claimedEntries({ entries, removed }: Pick<AuthData, 'entries' | 'removed'>): AuthData['entries'] {
  const others = entries.filter(([platform]) => !isUnionIdEntryName(platform));
  const isResent = others.length > 0 || removed.some((platform) => !isUnionIdEntryName(platform));
  return isResent ? others : entries;
}

function readWrite(write: ObjectWrite): ReadWrite {
  return { write, authData: write.className === '_User' ? parseAuthData(write.fields) : undefined };
}

function isProven(outcome: Identity | UnprovenIdentity): outcome is Identity {
  return 'entry' in outcome;
}

function isUnproven(outcome: Identity | UnprovenIdentity): outcome is UnprovenIdentity {
  return 'error' in outcome;
}

function assertNotReserved(platform: string): void {
  if (isUnionIdEntryName(platform))
    throw appError('READ_ONLY_KEY', { message: `The key is read only: authData.${platform}.` });
}

function unproven({ platform, uid }: ReadClaim, error: unknown): UnprovenIdentity {
  if (!(error instanceof AppError)) throw error;
  return { platform, ...(uid === undefined ? {} : { uid }), error: toWireError(error) };
}

function isKnown(claim: ReadClaim): claim is KnownClaim {
  return claim.kind !== undefined;
}

/** The platform's values replace the client's; a code works once, so it is dropped. */
function verified(claim: KnownClaim, proof: Proof): Identity {
  const { code: _, anonymousCode: _a, anonymous_code: _b, ...sent } = claim.entry;
  const entry = proof.additions === undefined ? claim.entry : { ...sent, ...proof.additions };
  return identityOf({ ...claim, entry }, proof.uid, proof);
}

function unverified(claim: ReadClaim): Identity {
  const uid = requireUid(claim);
  assertUnguessable(claim, uid);
  return identityOf(claim, uid, undefined);
}

function identityOf(claim: ReadClaim, uid: string, proof: Proof | undefined): Identity {
  const { platform, kind, entry } = claim;
  const unionId = readUnionId(claim, proof);
  return {
    platform,
    ...(kind === undefined ? {} : { kind }),
    uid,
    isVerified: proof !== undefined,
    entry,
    ...(unionId === undefined ? {} : { unionId }),
  };
}

function refused({ platform, kind }: KnownClaim, reason: string): AppError {
  return refusal(kind, reason, platform);
}
