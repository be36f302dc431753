import { Injectable } from '@nestjs/common';
import {
  accountsRpc,
  type authLinkingRpc,
  type Caller,
  type Identity,
  type IdentityChanges,
  isUnionIdEntryName,
  type JsonObject,
  MAX_IDENTITIES,
  objectsRpc,
  type ObjectWrite,
  type RpcData,
  type RpcReply,
  type UnprovenIdentity,
} from '#contracts';
import { AppError, appError, toWireError } from '#errors';
import { forward, type Forwarded } from '#messaging';
import { type AuthData, parseAuthData, type ReadClaim } from './claim.rules.js';
import { ProofService } from './proof.service.js';

type Contracts = typeof authLinkingRpc;

/** A write of a batch save, with its parsed `authData`. */
interface ReadWrite {
  readonly write: ObjectWrite;
  readonly authData: AuthData | undefined;
}

/** Verifies the `authData` of a request, and forwards the request to accounts with the verified identities. */
@Injectable()
export class LinkingService {
  constructor(private readonly proofs: ProofService) {}

  /** @throws AppError as `ProofService.prove` for any entry: a login needs all of its entries verified */
  async signUpOrLogIn({
    caller,
    fields: body,
    failOnNotExist,
  }: RpcData<Contracts['signUpOrLogIn']>): Promise<Forwarded<RpcReply<Contracts['signUpOrLogIn']>>> {
    const { entries, fields } = parseAuthData(body);
    if (entries.length === 0) return forward(accountsRpc.signUp, { caller, fields });
    const identities = await Promise.all(
      entries.map(async ([platform, entry]) =>
        this.prove(caller, await this.proofs.read(caller.appId, platform, entry)),
      ),
    );
    return forward(accountsRpc.signUpOrLogInByIdentity, { caller, fields, identities, failOnNotExist });
  }

  async updateUser({
    caller,
    changes: body,
    ...write
  }: RpcData<Contracts['updateUser']>): Promise<Forwarded<RpcReply<Contracts['updateUser']>>> {
    const authData = parseAuthData(body);
    const identities = await this.changesOf(caller, authData);
    return forward(accountsRpc.updateUser, { ...write, caller, changes: authData.fields, identities });
  }

  /** @throws AppError NOT_SUPPORTED if the batch has more entries than a single request may have */
  async saveAll({ caller, writes }: RpcData<Contracts['saveAll']>): Promise<Forwarded<RpcReply<Contracts['saveAll']>>> {
    const read = writes.map(readWrite);
    const count = read.reduce((sum, { authData }) => sum + (authData?.entries.length ?? 0), 0);
    if (count > MAX_IDENTITIES)
      throw appError('NOT_SUPPORTED', {
        message: `A batch save may link at most ${MAX_IDENTITIES} third-party accounts.`,
      });
    const proven = await Promise.all(read.map((each) => this.proveWrite(caller, each)));
    return forward(objectsRpc.saveAll, { caller, writes: proven });
  }

  private async proveWrite(caller: Caller, { write, authData }: ReadWrite): Promise<ObjectWrite> {
    if (authData === undefined) return write;
    const { entries, removed, fields } = authData;
    if (entries.length === 0 && removed.length === 0) return { ...write, fields };
    if (write.objectId === undefined && entries.length > 0)
      throw appError('NOT_SUPPORTED', {
        message: 'A batch save cannot log in: send a separate sign-up request with authData.',
      });
    return { ...write, fields, identities: await this.changesOf(caller, authData) };
  }

  /** Sends unproven entries with their errors, because SDKs resend entries that the user already has. */
  private async changesOf(caller: Caller, { entries, removed }: AuthData): Promise<IdentityChanges> {
    for (const platform of removed) if (!caller.isMaster) assertNotReserved(platform);
    const outcomes = await Promise.all(entries.map(([platform, entry]) => this.tryToProve(caller, platform, entry)));
    return {
      link: outcomes.filter(isProven),
      unproven: outcomes.filter(isUnproven),
      unlink: [...removed],
    };
  }

  private async tryToProve(caller: Caller, platform: string, entry: JsonObject): Promise<Identity | UnprovenIdentity> {
    const claim = await this.proofs.read(caller.appId, platform, entry);
    try {
      return await this.prove(caller, claim);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { platform, ...(claim.uid === undefined ? {} : { uid: claim.uid }), error: toWireError(error) };
    }
  }

  private async prove({ appId }: Caller, claim: ReadClaim): Promise<Identity> {
    assertNotReserved(claim.platform);
    return this.proofs.prove(appId, claim);
  }
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

/** @throws AppError READ_ONLY_KEY */
function assertNotReserved(platform: string): void {
  if (isUnionIdEntryName(platform))
    throw appError('READ_ONLY_KEY', { message: `The key is read only: authData.${platform}.` });
}
