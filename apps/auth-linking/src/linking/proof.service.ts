import { Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { type Identity, type JsonObject, type PlatformKind, unionIdFamily } from '#contracts';
import { type AppError, appError } from '#errors';
import { CredentialsService } from '../credentials/credentials.service.js';
import { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import { type Proof, refusal, requireUid } from '../platforms/platform.rules.js';
import { assertUnguessable, type ReadClaim, readClaim, readUnionId } from './claim.rules.js';

interface KnownClaim extends ReadClaim {
  readonly kind: PlatformKind;
}

/** Decides which identity an entry of `authData` proves. */
@Injectable()
export class ProofService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly verifiers: PlatformVerifiers,
    private readonly applications: ApplicationDirectory,
  ) {}

  /** Parses an entry without verification. @throws AppError INVALID_IDENTITY if its id is invalid */
  async read(appId: string, platform: string, entry: JsonObject): Promise<ReadClaim> {
    return readClaim(platform, entry, (await this.credentials.kinds(appId)).get(platform));
  }

  /**
   * Verifies the claim with its platform if the application has credentials for it. Other claims are accepted unverified,
   * as the specification says of "other platforms", unless the setting `requireVerifiedPlatforms` forbids it.
   * @throws AppError IDENTITY_MISSING, INVALID_IDENTITY, INVALID_WEIXIN_IDENTITY; SERVICE_UNAVAILABLE if a platform does
   * not respond
   */
  async prove(appId: string, claim: ReadClaim): Promise<Identity> {
    if (isKnown(claim)) {
      const proof = await this.askPlatform(appId, claim);
      if (proof !== undefined) return verified(claim, proof);
      await this.assertMayBeUnverified(appId, claim);
    }
    return unverified(claim);
  }

  /** @returns undefined if the application has no credentials for the platform */
  private async askPlatform(appId: string, claim: KnownClaim): Promise<Proof | undefined> {
    const credentials = await this.credentials.find(appId, claim.platform, claim.kind);
    if (credentials === undefined) return undefined;
    const proof = await this.verifiers.of(claim.kind).verify(claim, credentials);
    if (claim.uid !== undefined && claim.uid !== proof.uid)
      throw refused(claim, 'the platform confirms another account');
    return proof;
  }

  private async assertMayBeUnverified(appId: string, claim: KnownClaim): Promise<void> {
    const application = await this.applications.find(appId);
    if (application === null) throw appError('SERVICE_UNAVAILABLE');
    if (application.settings.requireVerifiedPlatforms)
      throw refused(claim, 'the setting requireVerifiedPlatforms is on, but no credentials are set for this platform');
    if (claim.uid === undefined && 'code' in claim.entry)
      throw refused(claim, 'its code cannot be exchanged, because no credentials are set for this platform');
    if (readUnionId(claim, undefined) !== undefined && (await this.isFamilyVerified(appId, claim.kind)))
      throw refused(claim, 'its union id is accepted only if the platform confirms it');
  }

  /** Whether a platform with the same union ids is verified: an unverified claim must not open accounts of its users. */
  private async isFamilyVerified(appId: string, kind: PlatformKind): Promise<boolean> {
    const configured = await this.credentials.kinds(appId);
    return [...configured.values()].some((other) => unionIdFamily(other) === unionIdFamily(kind));
  }
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
