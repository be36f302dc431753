import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Sealer } from '#sealing';
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
    const sealedSessionToken = this.sealer.seal(token, contextOf(objectId));
    return { token, columns: { sessionTokenHash: this.hash(token), sealedSessionToken } };
  }

  hash(token: string): Buffer {
    return this.sealer.lookupHash(token);
  }

  reveal({ objectId, sealedSessionToken }: { objectId: string; sealedSessionToken: string }): string {
    return this.sealer.open(sealedSessionToken, contextOf(objectId));
  }

  /** Whether the token that a request carries is the stored one. */
  matches(token: string | undefined, storedHash: Buffer): boolean {
    return token !== undefined && timingSafeEqual(this.hash(token), storedHash);
  }
}

function contextOf(objectId: string): string {
  return `session token of ${objectId}`;
}
