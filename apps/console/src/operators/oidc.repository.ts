import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { appError, type ErrorName } from '#errors';
import { AuditRepository } from '../audit/audit.repository.js';
import { ConsoleDatabase } from '../console.database.js';
import type { Rights } from './operator.rules.js';
import { addressKey, CREDENTIAL_TAGS, IS_ACTIVE, replaceGrants } from './operators.repository.js';
import { type FactorOwner, HAS_FACTOR, lockOwner } from './second-factors.repository.js';

export interface IssuerAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly address: string | undefined;
  readonly isVerified: boolean;
  /** By the groups of the account; undefined if none has a role. */
  readonly rights: Rights | undefined;
}

interface Source {
  readonly id: string;
  readonly network: string;
}

interface LockedOperator {
  readonly id: string;
  readonly name: string;
  readonly isOwner: boolean;
  readonly isDisabled: boolean;
  readonly isActive: boolean;
  readonly byGroups: boolean;
  readonly isConnected: boolean;
}

interface OperatorAtAddress {
  readonly id: string;
  readonly name: string;
  readonly isDisabled: boolean;
  readonly isActive: boolean;
  readonly hasFactor: boolean;
}

/** Which account of the issuer signs an operator in, and the rights by its groups. */
@Injectable()
export class OidcRepository {
  constructor(
    private readonly database: ConsoleDatabase,
    private readonly audit: AuditRepository,
  ) {}

  /** Signs in the connected operator, the invited one, or a new one with a role by groups; one at a time. @throws AppError OPERATOR_DISABLED, OIDC_… */
  async signIn(account: IssuerAccount, mapsGroups: boolean, source: Source): Promise<string> {
    const { id, refusal } = await this.database.transaction(async (tx) => {
      await lockAccount(tx, account);
      const owners = await lockOperators(tx, account, mapsGroups);
      const connected = owners.find(({ isConnected }) => isConnected);
      if (connected === undefined) return { id: await this.#connectFirst(tx, account, mapsGroups, source) };
      if (connected.isDisabled) throw appError('OPERATOR_DISABLED');
      if (!mapsGroups || !connected.byGroups) return { id: connected.id };
      const isLastOwner = connected.isOwner && !owners.some((owner) => owner.isActive && owner.id !== connected.id);
      return { id: connected.id, refusal: await this.#setRights(tx, { account, connected, isLastOwner }, source) };
    });
    if (refusal !== undefined) throw appError(refusal);
    return id;
  }

  /** @throws AppError UNAUTHORIZED if the session has ended, NO_EFFECT with an account, IDENTITY_TAKEN for one of another operator */
  async connect(owner: FactorOwner & { readonly name: string }, account: IssuerAccount, source: Source): Promise<void> {
    const { issuer, subject } = account;
    await this.database.transaction(async (tx) => {
      await lockAccount(tx, account);
      await lockOwner(tx, owner);
      const [other] = await tx.query<{ id: string }>(
        'SELECT id FROM console.operators WHERE oidc_issuer = $1 AND oidc_subject = $2',
        [issuer, subject],
      );
      if (other !== undefined && other.id !== owner.id)
        throw appError('IDENTITY_TAKEN', { message: 'Another operator is connected to this account of the issuer.' });
      const rows = await tx.query(
        `UPDATE console.operators SET oidc_issuer = $2, oidc_subject = $3
          WHERE id = $1 AND oidc_subject IS NULL RETURNING 1`,
        [owner.id, issuer, subject],
      );
      if (rows.length === 0) throw appError('NO_EFFECT', { message: 'An account is connected. Disconnect it first.' });
      await this.#record(tx, { action: 'connectAccount', operator: owner, change: { issuer, subject } }, source);
    });
  }

  /** Ends the sessions that began at the issuer. @throws AppError UNAUTHORIZED, or NO_EFFECT without an account or a password */
  async disconnect(owner: FactorOwner): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOwner(tx, owner);
      await tx.query(
        `DELETE FROM console.sessions s USING console.operators o
          WHERE o.id = $1 AND s.operator_id = o.id AND s.password_tag = ${CREDENTIAL_TAGS.issuer}`,
        [owner.id],
      );
      const rows = await tx.query(
        `UPDATE console.operators SET oidc_issuer = NULL, oidc_subject = NULL, grants_by_groups = false
          WHERE id = $1 AND oidc_subject IS NOT NULL AND password_hash IS NOT NULL RETURNING 1`,
        [owner.id],
      );
      if (rows.length === 0)
        throw appError('NO_EFFECT', { message: 'No account is connected, or it is the only way to sign in.' });
    });
  }

  async isConnected(operatorId: string, { issuer, subject }: IssuerAccount): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT 1 FROM console.operators WHERE id = $1 AND oidc_issuer = $2 AND oidc_subject = $3',
      [operatorId, issuer, subject],
    );
    return rows.length > 0;
  }

  /** An address is only as reliable as the issuer, so it connects only an operator without another way to sign in. */
  async #connectFirst(tx: Tx, account: IssuerAccount, mapsGroups: boolean, source: Source): Promise<string> {
    const { address, rights } = account;
    if (address === undefined || !account.isVerified) throw appError('OIDC_ADDRESS_UNVERIFIED');
    const known = await lockAddress(tx, address);
    if (known !== undefined) return this.#acceptInvitation(tx, known, account, source);
    if (rights === undefined) throw appError(mapsGroups ? 'OIDC_NO_ROLE' : 'OIDC_NOT_INVITED');
    const [created] = await tx.query<{ id: string }>(
      `INSERT INTO console.operators (name, address, is_owner, oidc_issuer, oidc_subject, grants_by_groups)
       VALUES ($1, $2, $3, $4, $5, true) ON CONFLICT ON CONSTRAINT operators_address_key DO NOTHING RETURNING id`,
      [account.name, addressKey(address), rights.isOwner, account.issuer, account.subject],
    );
    if (created === undefined) throw appError('OIDC_NOT_CONNECTED');
    await replaceGrants(tx, created.id, rights.grants);
    const operator = { id: created.id, name: account.name };
    const change = { issuer: account.issuer, subject: account.subject, address: addressKey(address), ...rights };
    await this.#record(tx, { action: 'createByGroups', operator, change }, source);
    return created.id;
  }

  async #acceptInvitation(
    tx: Tx,
    { id, name, isDisabled, isActive, hasFactor }: OperatorAtAddress,
    { issuer, subject }: IssuerAccount,
    source: Source,
  ): Promise<string> {
    if (isDisabled) throw appError('OPERATOR_DISABLED');
    if (isActive || hasFactor) throw appError('OIDC_NOT_CONNECTED');
    const rows = await tx.query(
      `WITH used AS (
         UPDATE console.links SET used_at = now()
          WHERE operator_id = $1 AND kind = 'invitation' AND used_at IS NULL AND ends_at > now() RETURNING operator_id)
       UPDATE console.operators SET oidc_issuer = $2, oidc_subject = $3
        WHERE id IN (SELECT operator_id FROM used) RETURNING 1`,
      [id, issuer, subject],
    );
    if (rows.length === 0) throw appError('OIDC_NOT_INVITED');
    await this.#record(
      tx,
      { action: 'connectAccount', operator: { id, name }, change: { issuer, subject, invitation: true } },
      source,
    );
    return id;
  }

  /** The last active owner keeps the ownership. @returns why the operator cannot sign in */
  async #setRights(
    tx: Tx,
    given: { readonly account: IssuerAccount; readonly connected: LockedOperator; readonly isLastOwner: boolean },
    source: Source,
  ): Promise<ErrorName | undefined> {
    const { connected, isLastOwner } = given;
    const rights = given.account.rights ?? { isOwner: false, grants: [] };
    const keepsOwnership = isLastOwner && !rights.isOwner;
    const isOwner = rights.isOwner || keepsOwnership;
    const before = await rightsIn(tx, connected.id);
    const isChanged = JSON.stringify(before) !== JSON.stringify({ isOwner, grants: rights.grants });
    if (isChanged) {
      await tx.query('UPDATE console.operators SET is_owner = $2 WHERE id = $1', [connected.id, isOwner]);
      await replaceGrants(tx, connected.id, rights.grants);
    }
    if (isChanged || keepsOwnership) {
      const change = { ...rights, isOwner, ...(keepsOwnership ? { lastOwnerStays: true } : {}), before };
      await this.#record(tx, { action: 'setRightsByGroups', operator: connected, change }, source);
    }
    if (given.account.rights !== undefined) return undefined;
    await tx.query('DELETE FROM console.sessions WHERE operator_id = $1', [connected.id]);
    return 'OIDC_NO_ROLE';
  }

  #record(
    tx: Tx,
    act: {
      readonly action: string;
      readonly operator: { readonly id: string; readonly name: string };
      readonly change: Readonly<Record<string, unknown>>;
    },
    { id: requestId, network }: Source,
  ): Promise<void> {
    const { action, operator, change } = act;
    const by = { operatorId: operator.id, operatorName: operator.name, target: operator.id };
    return this.audit.done({ way: 'console', action, appId: null, change, network, requestId, ...by }, tx);
  }
}

function lockAccount(tx: Tx, { subject }: IssuerAccount): Promise<void> {
  return tx.lockName(`console account ${subject}`);
}

/** Locks the connected operator and, if groups decide ownership, all owners: in the order in which a change of an owner locks them. */
function lockOperators(tx: Tx, { issuer, subject }: IssuerAccount, withOwners: boolean): Promise<LockedOperator[]> {
  return tx.query<LockedOperator>(
    `SELECT id, name, is_owner AS "isOwner", is_disabled AS "isDisabled", is_owner AND ${IS_ACTIVE} AS "isActive",
            grants_by_groups AS "byGroups", COALESCE(oidc_issuer = $1 AND oidc_subject = $2, false) AS "isConnected"
       FROM console.operators
      WHERE (oidc_issuer = $1 AND oidc_subject = $2) OR ($3 AND is_owner) ORDER BY id FOR NO KEY UPDATE`,
    [issuer, subject, withOwners],
  );
}

async function lockAddress(tx: Tx, address: string): Promise<OperatorAtAddress | undefined> {
  const key = addressKey(address);
  await tx.query('SELECT FROM console.operators WHERE address = $1 FOR NO KEY UPDATE', [key]);
  const [row] = await tx.query<OperatorAtAddress>(
    `SELECT o.id, o.name, o.is_disabled AS "isDisabled", ${IS_ACTIVE} AS "isActive", ${HAS_FACTOR('o.id')} AS "hasFactor"
       FROM console.operators o WHERE o.address = $1`,
    [key],
  );
  return row;
}

async function rightsIn(tx: Tx, id: string): Promise<Rights | undefined> {
  const [row] = await tx.query<Rights>(
    `SELECT o.is_owner AS "isOwner",
            COALESCE((SELECT json_agg(json_build_object('appId', g.app_id, 'role', g.role) ORDER BY g.app_id COLLATE "C")
                        FROM console.grants g WHERE g.operator_id = o.id), '[]') AS grants
       FROM console.operators o WHERE o.id = $1`,
    [id],
  );
  return row;
}
