import { Injectable } from '@nestjs/common';
import { Sealer } from '#security';
import { newSessionToken } from '../random-ids.js';

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
