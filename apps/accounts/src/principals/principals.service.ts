import { Injectable } from '@nestjs/common';
import type { Caller, Principal } from '#contracts';
import type { Queryable } from '#database';
import { ANONYMOUS } from '#objects';
import { SessionTokens } from '../sessions/session-tokens.js';
import { PrincipalsRepository } from './principals.repository.js';

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
