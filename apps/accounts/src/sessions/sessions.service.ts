import { Injectable, Module } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Caller, Principal } from '#contracts';
import type { Queryable } from '#database';
import { ANONYMOUS } from '#objects';
import { Sealer } from '#security';
import { ApplicationsModule } from '../applications/applications.module.js';
import { newSessionToken } from '../random-ids.js';
import { PrincipalsRepository } from './principals.repository.js';

/** A new session token and its columns: the hash finds it, the sealed form returns it. */
export interface NewSessionToken {
  readonly token: string;
  readonly columns: { readonly sessionTokenHash: Buffer; readonly sealedSessionToken: string };
}

/** Creates and verifies session tokens. A token stays the same until it is replaced (specification, sessionToken changes). */
@Injectable()
export class SessionTokens {
  constructor(private readonly sealer: Sealer) {}

  create(objectId: string): NewSessionToken {
    const token = newSessionToken();
    return { token, columns: this.columnsOf(token, objectId) };
  }

  /** The columns of a token that another server has issued. */
  columnsOf(token: string, objectId: string): NewSessionToken['columns'] {
    const sealedSessionToken = this.sealer.seal(token, sessionTokenContext(objectId));
    return { sessionTokenHash: this.sealer.lookupHash(token), sealedSessionToken };
  }

  /** The possible stored hashes of the token: one for each accepted secret. */
  hashes(token: string): readonly Buffer[] {
    return this.sealer.lookupHashes(token);
  }

  reveal({ objectId, sealedSessionToken }: { objectId: string; sealedSessionToken: string }): string {
    return this.sealer.open(sealedSessionToken, sessionTokenContext(objectId));
  }

  matches(token: string | undefined, storedHash: Buffer): boolean {
    return token !== undefined && this.sealer.isHashOf(token, storedHash);
  }
}

export function sessionTokenContext(objectId: string): string {
  return `session token of ${objectId}`;
}

/** Resolves callers to users and their roles. It costs two lookups: call it only where a permission depends on the result. */
@Injectable()
export class PrincipalsService {
  constructor(
    private readonly repository: PrincipalsRepository,
    private readonly sessions: SessionTokens,
  ) {}

  /** An unknown session token resolves to the anonymous principal, like a missing one. */
  async of({ appId, sessionToken }: Caller): Promise<Principal> {
    if (sessionToken === undefined) return ANONYMOUS;
    const userId = await this.repository.findUserId(appId, this.sessions.hashes(sessionToken));
    return userId === undefined ? ANONYMOUS : this.ofUser(appId, userId);
  }

  async ofUser(appId: string, userId: string, within?: Queryable): Promise<Principal> {
    return { userId, roles: await this.repository.rolesOf(appId, userId, within) };
  }
}

@Module({
  imports: [ApplicationsModule],
  providers: [Clock, PrincipalsRepository, PrincipalsService, SessionTokens],
  exports: [ApplicationsModule, Clock, PrincipalsService, SessionTokens],
})
export class SessionsModule {}
