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

/** Decides what an entry of `authData` proves. */
@Injectable()
export class ProofService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly verifiers: PlatformVerifiers,
    private readonly applications: ApplicationDirectory,
  ) {}

  /** Reads an entry, without a judgement. @throws AppError INVALID_IDENTITY where its id is none */
  async read(appId: string, platform: string, entry: JsonObject): Promise<ReadClaim> {
    return readClaim(platform, entry, (await this.credentials.kinds(appId)).get(platform));
  }

  /**
   * Has the claim confirmed where its platform can be asked. Platforms without credentials are believed, as the
   * specification says of "other platforms", unless the setting `requireVerifiedPlatforms` forbids it.
   * @throws AppError IDENTITY_MISSING, INVALID_IDENTITY, INVALID_WEIXIN_IDENTITY; SERVICE_UNAVAILABLE where a platform does
   * not answer
   */
  async prove(appId: string, claim: ReadClaim): Promise<Identity> {
    if (isKnown(claim)) {
      const proof = await this.askPlatform(appId, claim);
      if (proof !== undefined) return verified(claim, proof);
      await this.assertMayBeBelieved(appId, claim);
    }
    return believed(claim);
  }

  /** @returns undefined where nobody can be asked */
  private async askPlatform(appId: string, claim: KnownClaim): Promise<Proof | undefined> {
    const credentials = await this.credentials.find(appId, claim.platform, claim.kind);
    if (credentials === undefined) return undefined;
    const proof = await this.verifiers.of(claim.kind).verify(claim, credentials);
    if (claim.uid !== undefined && claim.uid !== proof.uid)
      throw refused(claim, 'the platform confirms another account');
    return proof;
  }

  private async assertMayBeBelieved(appId: string, claim: KnownClaim): Promise<void> {
    const application = await this.applications.find(appId);
    if (application === null) throw appError('SERVICE_UNAVAILABLE');
    if (application.settings.requireVerifiedPlatforms)
      throw refused(
        claim,
        'the setting requireVerifiedPlatforms is on, and the platform has no credentials to be asked with',
      );
    if (claim.uid === undefined && 'code' in claim.entry)
      throw refused(claim, 'its code cannot be exchanged before the platform has credentials');
    if (readUnionId(claim, undefined) !== undefined && (await this.isFamilyVerified(appId, claim.kind)))
      throw refused(claim, 'its union id counts only where the platform confirms it');
  }

  /** Whether other platforms with the same union ids are verified: their users must not be reached by a mere word. */
  private async isFamilyVerified(appId: string, kind: PlatformKind): Promise<boolean> {
    const configured = await this.credentials.kinds(appId);
    return [...configured.values()].some((other) => unionIdFamily(other) === unionIdFamily(kind));
  }
}

function isKnown(claim: ReadClaim): claim is KnownClaim {
  return claim.kind !== undefined;
}

/** What the platform says replaces what the client said; a code is used up. */
function verified(claim: KnownClaim, proof: Proof): Identity {
  const { code: _, anonymousCode: _a, anonymous_code: _b, ...sent } = claim.entry;
  const entry = proof.additions === undefined ? claim.entry : { ...sent, ...proof.additions };
  return identityOf({ ...claim, entry }, proof.uid, proof);
}

function believed(claim: ReadClaim): Identity {
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
