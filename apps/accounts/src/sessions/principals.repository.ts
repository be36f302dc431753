import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#database';

/** How a user is found by the hashes of a session token. The token is the second parameter. */
interface SessionTokenLookup {
  readonly condition: string;
  readonly value: Buffer | readonly Buffer[];
  /** Names the statement: each text keeps a plan of its own. */
  readonly kind: 'one' | 'any';
}

/** Most of the time one secret is good, and the hottest look-up is that of one value. */
export function sessionTokenLookup(hashes: readonly Buffer[]): SessionTokenLookup {
  const [hash, ...others] = hashes;
  return hash === undefined || others.length > 0
    ? { condition: 'session_token_hash = ANY ($2)', value: hashes, kind: 'any' }
    : { condition: 'session_token_hash = $2', value: hash, kind: 'one' };
}

/** Walks from the user's roles to those that name them in their relation `roles`. UNION ends it where roles form a ring. */
const HELD_ROLES = `
  WITH RECURSIVE held AS (
    SELECT role_id FROM accounts.role_users WHERE app_id = $1 AND user_id = $2
    UNION
    SELECT parent.role_id FROM accounts.role_children AS parent JOIN held ON held.role_id = parent.child_id
     WHERE parent.app_id = $1
  )
  SELECT name FROM accounts.roles WHERE app_id = $1 AND object_id IN (SELECT role_id FROM held)`;

/** Finds out who a session token belongs to, and which roles a user has. */
@Injectable()
export class PrincipalsRepository {
  constructor(private readonly database: Database) {}

  /** @param tokenHashes as `SessionTokens.hashes` makes them */
  async findUserId(appId: string, tokenHashes: readonly Buffer[]): Promise<string | undefined> {
    const { condition, value, kind } = sessionTokenLookup(tokenHashes);
    const [row] = await this.database.query<{ id: string }>(
      `SELECT object_id AS id FROM accounts.users WHERE app_id = $1 AND ${condition}`,
      [appId, value],
      `principals.findUserId.${kind}`,
    );
    return row?.id;
  }

  /** @param within the transaction to ask in, where one is open: it must not wait for a second connection */
  async rolesOf(appId: string, userId: string, within: Queryable = this.database): Promise<string[]> {
    const rows = await within.query<{ name: string }>(HELD_ROLES, [appId, userId], 'principals.rolesOf');
    return rows.map(({ name }) => name);
  }
}
