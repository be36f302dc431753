import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#database';

/**
 * Walks from the user's roles to those that include them in their relation `roles`. UNION ends the walk where roles form a
 * circle.
 */
const HELD_ROLES = `
  WITH RECURSIVE held AS (
    SELECT role_id FROM accounts.role_users WHERE app_id = $1 AND user_id = $2
    UNION
    SELECT parent.role_id FROM accounts.role_children AS parent JOIN held ON held.role_id = parent.child_id
     WHERE parent.app_id = $1
  )
  SELECT name FROM accounts.roles WHERE app_id = $1 AND object_id IN (SELECT role_id FROM held)`;

/** Finds the user of a session token, and the roles of a user. */
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
