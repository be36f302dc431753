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
