import { Injectable } from '@nestjs/common';
import {
  combineStatements,
  Database,
  type Queryable,
  selectList,
  type SqlExecutor,
  type Statement,
  type Tx,
  UNESTIMATED_APP,
} from '#database';
import type { AppError } from '#errors';
import { type LoginIdentifier, userClass } from '#objects';
import { ObjectRepository, QueryDatabase } from '#objects/store';
import { Sealer } from '#security';
import { sessionTokenLookup } from '../sessions/session-tokens.js';
import { identityViolation } from './identities.repository.js';
import type { IdentityKey, OwnedIdentity } from './identity.rules.js';
import { IdentityEntity, UserEntity } from './user.entity.js';
import {
  INTERNAL_COLUMNS,
  type LinkedIdentities,
  type LinkedIdentity,
  type UserRow,
  type VisibleRow,
} from './user.rules.js';

const COLUMNS = selectList(UserEntity, { except: ['appId'] });
const VISIBLE_COLUMNS = selectList(UserEntity, { except: ['appId', ...INTERNAL_COLUMNS] });
const CONTENT_COLUMNS = selectList(UserEntity, { except: ['appId', 'sealedIdentities'] });

const IDENTIFIER_COLUMNS: Readonly<Record<LoginIdentifier, string>> = {
  username: 'username',
  email: 'email',
  mobilePhoneNumber: 'mobile_phone_number',
};

type Stored<Row> = Omit<Row, 'identities'> & { readonly sealedIdentities: string | null };
type StoredUser = Stored<UserRow>;

const OWNED = `${selectList(IdentityEntity, { table: 'identities', except: ['appId', 'userId'] })}, ${COLUMNS}`;
const WITH_OWNER = `
  JOIN accounts.users ON users.app_id = identities.app_id AND users.object_id = identities.user_id
 WHERE identities.app_id = $1`;
const FIND_BY_IDENTITY = `
  SELECT ${OWNED} FROM accounts.identities ${WITH_OWNER} AND identities.platform = $2 AND identities.uid = $3`;
const FIND_BY_IDENTITIES = `
  SELECT ${OWNED}
    FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[]) AS named (platform, uid)) AS wanted
    JOIN accounts.identities ON identities.platform = wanted.platform AND identities.uid = wanted.uid ${WITH_OWNER}`;

type OwnedRow = StoredUser & Omit<OwnedIdentity<UserRow>, 'user'>;

interface UserVersion {
  readonly user: UserRow;
  readonly rowVersion: string;
}

const STORAGE = {
  objectClass: userClass,
  entity: UserEntity,
  large: ['sealed_identities'],
  internal: INTERNAL_COLUMNS,
};

/** Users of one application per call: every statement is restricted to it. */
@Injectable()
export class UsersRepository extends ObjectRepository<UserRow, VisibleRow> {
  constructor(
    database: Database,
    queries: QueryDatabase,
    private readonly sealer: Sealer,
  ) {
    super(STORAGE, database, queries);
  }

  async findBySessionToken(appId: string, tokenHashes: readonly Buffer[]): Promise<VisibleRow | undefined> {
    const { condition, value, kind } = sessionTokenLookup(tokenHashes);
    const sql = `SELECT ${VISIBLE_COLUMNS} FROM accounts.users WHERE app_id = $1 AND ${condition}`;
    const [user] = await this.database.lookUp<Stored<VisibleRow>>(
      sql,
      [appId, value],
      `users.findBySessionToken.${kind}`,
    );
    return user === undefined ? undefined : this.#open(user);
  }

  findByIdentifier(appId: string, identifier: LoginIdentifier, value: string): Promise<UserRow | undefined> {
    const column = IDENTIFIER_COLUMNS[identifier];
    const sql = `SELECT ${COLUMNS} FROM accounts.users WHERE app_id = $1 AND ${column} = $2`;
    return this.first(this.database.lookUp<StoredUser>(sql, [appId, value], `users.findBy.${column}`));
  }

  /** A single identity is compared by values, not lists, so PostgreSQL caches the plan: planning takes longer than execution. */
  async findByIdentities(appId: string, keys: readonly IdentityKey[]): Promise<OwnedIdentity<UserRow>[]> {
    const [key, ...others] = keys;
    if (key === undefined) return [];
    const rows = await (others.length === 0
      ? this.database.lookUp<OwnedRow>(FIND_BY_IDENTITY, [appId, key.platform, key.uid], 'users.findByIdentity')
      : this.database.query<OwnedRow>(
          FIND_BY_IDENTITIES,
          [appId, keys.map(({ platform }) => platform), keys.map(({ uid }) => uid)],
          'users.findByIdentities',
        ));
    return rows.map(({ platform, uid, kind, isVerified, ...user }) => ({
      platform,
      uid,
      kind,
      isVerified,
      user: this.#open(user),
    }));
  }

  async usernames(appId: string, objectIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ objectId: string; username: string }>(
      'SELECT object_id AS "objectId", username FROM accounts.users WHERE app_id = $1 AND object_id = ANY ($2)',
      [appId, objectIds],
    );
    return new Map(rows.map(({ objectId, username }) => [objectId, username]));
  }

  tokenOwners(
    within: Queryable,
    appId: string,
    hashes: readonly string[],
  ): Promise<{ readonly hash: string; readonly objectId: string }[]> {
    return within.query(
      `SELECT wanted.hash, owner."objectId" FROM unnest($2::text[]) AS wanted (hash) CROSS JOIN LATERAL (
         SELECT object_id AS "objectId" FROM accounts.users
          WHERE app_id = ${UNESTIMATED_APP} AND session_token_hash = decode(wanted.hash, 'hex') LIMIT 1) AS owner`,
      [appId, hashes],
      'users.tokenOwners',
    );
  }

  /** @throws AppError as `insert`; IDENTITY_TAKEN by an addition */
  async insertWith(within: SqlExecutor, appId: string, user: UserRow, additions: readonly Statement[]): Promise<void> {
    await this.mapUniqueViolation(within.run(combineStatements([this.insertion(appId, user), ...additions])));
  }

  /** The user with the version of its row, for a change of content: without its identities, whose opening would cost more than the read. */
  async findVersion(appId: string, objectId: string): Promise<UserVersion | undefined> {
    const [row] = await this.database.lookUp<Omit<StoredUser, 'sealedIdentities'> & { rowVersion: string }>(
      `SELECT xmin::text AS "rowVersion", ${CONTENT_COLUMNS} FROM accounts.users WHERE app_id = $1 AND object_id = $2`,
      [appId, objectId],
      'users.findVersion',
    );
    if (row === undefined) return undefined;
    const { rowVersion, ...user } = row;
    return { user: { ...user, identities: null }, rowVersion };
  }

  /** @returns whether the row still had the version */
  async updateVersion(appId: string, { user, rowVersion }: UserVersion): Promise<boolean> {
    const { objectId, acl, fields, updatedAt } = user;
    const rows = await this.database.query(
      `UPDATE accounts.users SET acl = $4, fields = $5, updated_at = $6, last_change_at = NULL
        WHERE app_id = $1 AND object_id = $2 AND xmin = $3 RETURNING 1`,
      [appId, objectId, rowVersion, jsonOrNull(acl), JSON.stringify(fields), updatedAt],
      'users.updateVersion',
    );
    return rows.length === 1;
  }

  /** Replaces a hash by one of the same password, unless the password has changed since the read. */
  async rehash(tx: Tx, appId: string, user: UserRow, passwordHash: string): Promise<void> {
    await tx.query(
      'UPDATE accounts.users SET password_hash = $4 WHERE app_id = $1 AND object_id = $2 AND password_hash = $3',
      [appId, user.objectId, user.passwordHash, passwordHash],
    );
  }

  /** Records a login, unless the user no longer exists or has another session token. @returns its `updatedAt` */
  async recordLogin(appId: string, { objectId, sessionTokenHash }: UserRow, now: Date): Promise<Date | undefined> {
    const [row] = await this.database.query<Pick<UserRow, 'updatedAt'>>(
      `UPDATE accounts.users SET updated_at = GREATEST($4, updated_at + interval '1 millisecond'),
              last_change_at = COALESCE(last_change_at, updated_at)
        WHERE app_id = $1 AND object_id = $2 AND session_token_hash = $3 RETURNING updated_at AS "updatedAt"`,
      [appId, objectId, sessionTokenHash, now],
      'users.recordLogin',
    );
    return row?.updatedAt;
  }

  protected override toColumns(appId: string, user: UserRow): Readonly<Record<keyof UserEntity, unknown>> {
    const { identities: _, ...columns } = user;
    return { ...columns, appId, sealedIdentities: this.#seal(user) };
  }

  protected override toRow(columns: object): UserRow {
    return this.#open(columns as StoredUser);
  }

  protected override uniqueViolation(constraint: string): AppError | undefined {
    return super.uniqueViolation(constraint) ?? identityViolation(constraint);
  }

  #seal({ objectId, identities }: UserRow): string | null {
    return identities === null ? null : this.sealer.seal(JSON.stringify([...identities]), identitiesContext(objectId));
  }

  #open<Columns extends Stored<VisibleRow>>({ sealedIdentities, ...user }: Columns) {
    return {
      ...user,
      identities: sealedIdentities === null ? null : this.#openIdentities(user.objectId, sealedIdentities),
    };
  }

  #openIdentities(objectId: string, sealed: string): LinkedIdentities {
    return new Map(JSON.parse(this.sealer.open(sealed, identitiesContext(objectId))) as [string, LinkedIdentity][]);
  }
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

export function identitiesContext(objectId: string): string {
  return `identities of ${objectId}`;
}
