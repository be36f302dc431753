import { Injectable } from '@nestjs/common';
import type { Caller, Principal } from '#contracts';
import type { Queryable } from '#database';
import { ANONYMOUS } from '#objects';
import { Sealer } from '#security';
import { newSessionToken } from '../random-ids.js';
import { PrincipalsRepository } from './principals.repository.js';

/** A fresh session token, and how it is stored: found by its hash, given back from its sealed form. */
export interface NewSessionToken {
  readonly token: string;
  readonly columns: { readonly sessionTokenHash: Buffer; readonly sealedSessionToken: string };
}

/** Makes session tokens and recognises them. A token is constant until it is replaced (specification, sessionToken changes). */
@Injectable()
export class SessionTokens {
  constructor(private readonly sealer: Sealer) {}

  create(objectId: string): NewSessionToken {
    const token = newSessionToken();
    const sealedSessionToken = this.sealer.seal(token, sessionTokenContext(objectId));
    return { token, columns: { sessionTokenHash: this.sealer.lookupHash(token), sealedSessionToken } };
  }

  /** What a stored hash of the token may be: one for each secret that is good. */
  hashes(token: string): readonly Buffer[] {
    return this.sealer.lookupHashes(token);
  }

  reveal({ objectId, sealedSessionToken }: { objectId: string; sealedSessionToken: string }): string {
    return this.sealer.open(sealedSessionToken, sessionTokenContext(objectId));
  }

  /** Whether the token that a request carries is the stored one. */
  matches(token: string | undefined, storedHash: Buffer): boolean {
    return token !== undefined && this.sealer.isHashOf(token, storedHash);
  }
}

/** What a user's session token is sealed for. */
export function sessionTokenContext(objectId: string): string {
  return `session token of ${objectId}`;
}

/** Resolves callers to users and their roles. It costs two look-ups: ask only where a permission depends on it. */
@Injectable()
export class PrincipalsService {
  constructor(
    private readonly repository: PrincipalsRepository,
    private readonly sessions: SessionTokens,
  ) {}

  /** A session token that nobody has makes an anonymous principal, as none at all does. */
  async of({ appId, sessionToken }: Caller): Promise<Principal> {
    if (sessionToken === undefined) return ANONYMOUS;
    const userId = await this.repository.findUserId(appId, this.sessions.hashes(sessionToken));
    return userId === undefined ? ANONYMOUS : this.ofUser(appId, userId);
  }

  async ofUser(appId: string, userId: string, within?: Queryable): Promise<Principal> {
    return { userId, roles: await this.repository.rolesOf(appId, userId, within) };
  }
}
