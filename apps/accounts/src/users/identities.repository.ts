import { Injectable } from '@nestjs/common';
import type { PlatformKind } from '#contracts';
import {
  columnsOf,
  Database,
  insertManyStatement,
  type Queryable,
  type Statement,
  type Tx,
  UNESTIMATED_APP,
  violatedUniqueConstraint,
} from '#database';
import { type AppError, appError } from '#errors';
import type { ImportClaim } from '#objects';
import { IdentityEntity } from './user.entity.js';
import type { LinkedIdentities, LinkedIdentity } from './user.rules.js';

export interface IdentityCount {
  readonly platform: string;
  readonly kind: PlatformKind | undefined;
  readonly verified: number;
  readonly unverified: number;
}

const OWN_COLUMNS = columnsOf(IdentityEntity, { except: ['appId', 'userId'] });
const INSERT = `
  INSERT INTO accounts.identities (app_id, user_id, ${OWN_COLUMNS.map(({ name }) => name).join(', ')})
  SELECT $1, $2, fresh.* FROM unnest(${OWN_COLUMNS.map(({ type }, index) => `$${index + 3}::${String(type)}[]`).join(', ')}) AS fresh`;

export const IDENTITIES = 'accounts.identities';
const INSERT_MANY = insertManyStatement(IdentityEntity, IDENTITIES);
const CLAIM_PREFIX = 'authData.';

interface ImportedLinks {
  readonly objectId: string;
  readonly identities: LinkedIdentities | null;
}

@Injectable()
export class IdentitiesRepository {
  constructor(private readonly database: Database) {}

  /** The user's row must be locked or new. @throws AppError IDENTITY_TAKEN where another user has one of them */
  async replace(
    tx: Tx,
    { appId, userId }: { readonly appId: string; readonly userId: string },
    before: LinkedIdentities | null,
    after: LinkedIdentities | null,
  ): Promise<void> {
    const gone = [...(before ?? [])].filter(([platform, identity]) => !isSameRow(identity, after?.get(platform)));
    const fresh = [...(after ?? [])].filter(([platform, identity]) => !isSameRow(identity, before?.get(platform)));
    await this.#lock(tx, appId, [...gone, ...fresh]);
    if (gone.length > 0)
      await this.#remove(
        tx,
        appId,
        userId,
        gone.map(([platform]) => platform),
      );
    if (fresh.length > 0) await mapUniqueViolation(tx.run(insertion(appId, userId, fresh)));
  }

  /** To be combined with the user's insert; undefined where there are several, which only `replace` may add. */
  additions(appId: string, userId: string, identities: LinkedIdentities | null): Statement[] | undefined {
    const fresh = [...(identities ?? [])];
    if (fresh.length > 1) return undefined;
    return fresh.length === 0 ? [] : [insertion(appId, userId, fresh)];
  }

  async removeAll(tx: Tx, appId: string, users: readonly Pick<ImportedLinks, 'objectId'>[]): Promise<void> {
    if (users.length === 0) return;
    await tx.query(`DELETE FROM accounts.identities WHERE app_id = ${UNESTIMATED_APP} AND user_id = ANY ($2)`, [
      appId,
      users.map(({ objectId }) => objectId),
    ]);
  }

  /** For users without any. @returns false where a unique constraint has left out rows: the transaction must end */
  async insertMany(tx: Tx, appId: string, users: readonly ImportedLinks[]): Promise<boolean> {
    const rows = users.flatMap(({ objectId, identities }) => rowsOf(appId, objectId, [...(identities ?? [])]));
    if (rows.length === 0) return true;
    const inserted = await tx.query(INSERT_MANY.text, INSERT_MANY.values(rows), 'identities.insertMany');
    return inserted.length === rows.length;
  }

  /** The users of linked accounts, by claim `authData.<platform> <uid>`. */
  async ownersOf(within: Queryable, appId: string, claims: readonly ImportClaim[]): Promise<[string, string][]> {
    if (claims.length === 0) return [];
    const named = claims.map(({ field, key }) => ({
      platform: field.slice(CLAIM_PREFIX.length),
      uid: key.slice(field.length + 1),
    }));
    const rows = await within.query<Record<'platform' | 'uid' | 'userId', string>>(
      `SELECT wanted.platform, wanted.uid, owner."userId"
         FROM unnest($2::text[], $3::text[]) AS wanted (platform, uid) CROSS JOIN LATERAL (
         SELECT user_id AS "userId" FROM accounts.identities
          WHERE app_id = ${UNESTIMATED_APP} AND platform = wanted.platform AND uid = wanted.uid LIMIT 1) AS owner`,
      [appId, named.map(({ platform }) => platform), named.map(({ uid }) => uid)],
      'identities.ownersOf',
    );
    return rows.map(({ platform, uid, userId }): [string, string] => [`${CLAIM_PREFIX}${platform} ${uid}`, userId]);
  }

  async count(appId: string): Promise<IdentityCount[]> {
    const rows = await this.database.query<
      Record<'platform' | 'verified' | 'unverified', string> & { kind: PlatformKind | null }
    >(
      `SELECT platform, kind, count(*) FILTER (WHERE is_verified) AS verified, count(*) FILTER (WHERE NOT is_verified) AS unverified
         FROM accounts.identities WHERE app_id = $1 GROUP BY platform, kind ORDER BY platform, kind`,
      [appId],
    );
    return rows.map(({ platform, kind, verified, unverified }) => ({
      platform,
      kind: kind ?? undefined,
      verified: Number(verified),
      unverified: Number(unverified),
    }));
  }

  /** In one order, so users that exchange identities cannot deadlock. The change of a single one holds no lock that others wait for. */
  async #lock(tx: Tx, appId: string, identities: readonly (readonly [string, LinkedIdentity])[]): Promise<void> {
    if (identities.length < 2) return;
    const keys = identities.map(([platform, { uid }]) => JSON.stringify([appId, platform, uid]));
    await tx.lockNames(keys);
  }

  async #remove(tx: Tx, appId: string, userId: string, platforms: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM accounts.identities WHERE app_id = $1 AND user_id = $2 AND platform = ANY ($3)', [
      appId,
      userId,
      platforms,
    ]);
  }
}

/** Inserts identities that the user does not have; only `replace` may insert several. */
function insertion(
  appId: string,
  userId: string,
  identities: readonly (readonly [string, LinkedIdentity])[],
): Statement {
  const rows = rowsOf(appId, userId, identities);
  return {
    name: 'identities.insert',
    text: INSERT,
    values: [appId, userId, ...OWN_COLUMNS.map(({ property }) => rows.map((row) => row[property]))],
  };
}

function rowsOf(
  appId: string,
  userId: string,
  identities: readonly (readonly [string, LinkedIdentity])[],
): IdentityEntity[] {
  return identities.map(([platform, { uid, kind = null, isVerified }]) => ({
    appId,
    userId,
    platform,
    uid,
    kind,
    isVerified,
  }));
}

function isSameRow(one: LinkedIdentity, other: LinkedIdentity | undefined): boolean {
  return one.uid === other?.uid && one.kind === other.kind && one.isVerified === other.isVerified;
}

export function identityViolation(constraint: string | undefined): AppError | undefined {
  return constraint === 'identities_pkey' ? appError('IDENTITY_TAKEN') : undefined;
}

async function mapUniqueViolation(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    throw identityViolation(violatedUniqueConstraint(error)) ?? error;
  }
}
