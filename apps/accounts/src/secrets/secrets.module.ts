import { Inject, Module } from '@nestjs/common';
import { sealedCodeContext, sealedTokenContext } from '#contracts';
import { Database } from '#database';
import { ProcessInfo } from '#observability';
import { SealedRows, type SealedTable, Sealer, weaknessOf } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { keyContext, type KeyKind, secretContext } from '../applications/application.rules.js';
import { IMPORTED_SCHEME, importedPasswordContext } from '../passwords/imported-passwords.js';
import { sessionTokenContext } from '../sessions/sessions.service.js';
import { identitiesContext } from '../users/users.repository.js';
import { SecretRotationsRepository } from './secret-rotations.repository.js';
import { SecretsController } from './secrets.controller.js';

/** The sealed values of accounts, and the rotation of the secret that seals them. */
@Module({
  controllers: [SecretsController],
  providers: [
    SecretRotationsRepository,
    {
      provide: SealedRows,
      inject: [Database, Sealer, ProcessInfo],
      useFactory: (database: Database, sealer: Sealer, { instance }: ProcessInfo) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
})
export class SecretsModule {
  constructor(facts: ProcessInfo, @Inject(ACCOUNTS_CONFIG) { secret }: AccountsConfig) {
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}

const applications: SealedTable = {
  name: 'applications',
  table: 'accounts.applications',
  key: { id: 'text' },
  values: [
    { sql: 't.sealed_app_key', column: 'sealed_app_key', context: ({ id = '' }) => keyContext(id, 'app') },
    { sql: 't.sealed_master_key', column: 'sealed_master_key', context: ({ id = '' }) => keyContext(id, 'master') },
    {
      sql: 't.sealed_forward_secret',
      column: 'sealed_forward_secret',
      context: ({ id = '' }) => secretContext(id, 'forwardSecret'),
    },
  ],
};

const oldKeys: SealedTable = {
  name: 'old keys of applications',
  table: 'accounts.old_application_keys',
  key: { app_id: 'text', id: 'uuid' },
  also: { kind: 't.kind' },
  values: [
    {
      sql: 't.sealed_key',
      column: 'sealed_key',
      context: ({ app_id: appId = '', kind }) => keyContext(appId, kind as KeyKind),
    },
  ],
};

const users: SealedTable = {
  name: 'users',
  table: 'accounts.users',
  key: { app_id: 'text', object_id: 'text' },
  values: [
    {
      sql: 't.sealed_session_token',
      column: 'sealed_session_token',
      hashColumn: 'session_token_hash',
      context: ({ object_id: objectId = '' }) => sessionTokenContext(objectId),
    },
    {
      sql: 't.sealed_identities',
      column: 'sealed_identities',
      context: ({ object_id: objectId = '' }) => identitiesContext(objectId),
    },
    {
      sql: `CASE WHEN t.password_hash LIKE '${IMPORTED_SCHEME}%' THEN substr(t.password_hash, ${IMPORTED_SCHEME.length + 1}) END`,
      column: 'password_hash',
      // By this hash a second import recognises the password.
      hashColumn: 'imported_password_hash',
      set: (sealed) => `'${IMPORTED_SCHEME}' || ${sealed}`,
      context: ({ object_id: objectId = '' }) => importedPasswordContext(objectId),
    },
  ],
};

const TOKEN_FIELD = `CASE WHEN t.payload ? 'sealedToken' THEN 'sealedToken' ELSE 'sealedCode' END`;

/** Unpublished events: tokens of mailed links and codes of text messages. */
const events: SealedTable = {
  name: 'events to publish',
  table: 'accounts.outbox',
  key: { id: 'bigint' },
  also: {
    field: TOKEN_FIELD,
    appId: `t.payload ->> 'appId'`,
    userId: `t.payload ->> 'userId'`,
    mobilePhoneNumber: `t.payload ->> 'mobilePhoneNumber'`,
  },
  values: [
    {
      sql: `COALESCE(t.payload ->> 'sealedToken', t.payload ->> 'sealedCode')`,
      column: 'payload',
      set: (sealed) => `t.payload || jsonb_build_object(${TOKEN_FIELD}, ${sealed})`,
      context: ({ field, appId = '', userId = '', mobilePhoneNumber = '' }) =>
        field === 'sealedToken'
          ? sealedTokenContext({ appId, userId })
          : sealedCodeContext({ appId, mobilePhoneNumber }),
    },
  ],
};

/** All sealed values of the accounts schema. */
export const SEALED_TABLES: readonly SealedTable[] = [applications, oldKeys, users, events];
