import { Injectable } from '@nestjs/common';
import type { Caller, Principal } from '#contracts';
import { Database, type Queryable } from '#database';
import { ANONYMOUS } from '#objects';
import { randomDigits, Sealer } from '#security';

/** From the user's roles to those that include them. UNION ends circles; LIMIT looks up each role, whatever PostgreSQL estimates. */
const HELD_ROLES = `
  WITH RECURSIVE held AS (
    SELECT role_id FROM accounts.role_users WHERE app_id = $1 AND user_id = $2
    UNION
    SELECT parent.role_id FROM accounts.role_children AS parent JOIN held ON held.role_id = parent.child_id
     WHERE parent.app_id = $1
  )
  SELECT role.name FROM held CROSS JOIN LATERAL (
    SELECT name FROM accounts.roles WHERE app_id = $1 AND object_id = held.role_id LIMIT 1) AS role`;

@Injectable()
export class PrincipalsRepository {
  constructor(private readonly database: Database) {}

  async findUserId(appId: string, tokenHashes: readonly Buffer[]): Promise<string | undefined> {
    const { condition, value, kind } = sessionTokenLookup(tokenHashes);
    const [row] = await this.database.lookUp<{ id: string }>(
      `SELECT object_id AS id FROM accounts.users WHERE app_id = $1 AND ${condition}`,
      [appId, value],
      `principals.findUserId.${kind}`,
    );
    return row?.id;
  }

  /** @param within the open transaction, if any: it must not wait for a second connection */
  async rolesOf(appId: string, userId: string, within: Queryable = this.database): Promise<string[]> {
    const rows = await within.query<{ name: string }>(HELD_ROLES, [appId, userId], 'principals.rolesOf');
    return rows.map(({ name }) => name);
  }
}

/** The condition that finds a user by the hashes of a session token. Its value is the second parameter. */
interface SessionTokenLookup {
  readonly condition: string;
  readonly value: Buffer | readonly Buffer[];
  /** Part of the name of the prepared statement: each text has its own plan. */
  readonly kind: 'one' | 'any';
}

/** Usually one secret is accepted, and the most frequent lookup is by one value. */
export function sessionTokenLookup(hashes: readonly Buffer[]): SessionTokenLookup {
  const [hash, ...others] = hashes;
  return hash === undefined || others.length > 0
    ? { condition: 'session_token_hash = ANY ($2)', value: hashes, kind: 'any' }
    : { condition: 'session_token_hash = $2', value: hash, kind: 'one' };
}

/** 25 characters of 0-9a-z (129 bits): SDKs expect this format of session tokens; the original API generates usernames in it too. */
const newSessionToken = (): string => randomDigits(25, 36);
export const newUsername = newSessionToken;

/** A new session token and its columns: the hash finds it, the sealed form returns it. */
export interface NewSessionToken {
  readonly token: string;
  readonly columns: { readonly sessionTokenHash: Buffer; readonly sealedSessionToken: string };
}

/** A token stays the same until it is replaced (specification, sessionToken changes). */
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

  async of({ appId, sessionToken }: Caller): Promise<Principal> {
    if (sessionToken === undefined) return ANONYMOUS;
    const userId = await this.repository.findUserId(appId, this.sessions.hashes(sessionToken));
    return userId === undefined ? ANONYMOUS : this.ofUser(appId, userId);
  }

  async ofUser(appId: string, userId: string, within?: Queryable): Promise<Principal> {
    return { userId, roles: await this.repository.rolesOf(appId, userId, within) };
  }
}
