import { Controller, Inject } from '@nestjs/common';
import {
  accountsSealingRpc,
  MAX_CODE_TTL_MINUTES,
  type RpcData,
  type RpcReply,
  sealedCodeContext,
  sealedTokenContext,
} from '#contracts';
import { Database } from '#database';
import { RpcHandler } from '#messaging';
import { type SealedTable, sealingController } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { keyContext, type KeyKind, secretContext } from '../applications/application.rules.js';
import { IMPORTED_SCHEME, importedPasswordContext } from '../passwords/passwords.service.js';
import { sessionTokenContext } from '../sessions/session-tokens.js';
import { identitiesContext } from '../users/users.repository.js';
import { SecretRotationsRepository } from './secret-rotations.repository.js';

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
      // By this hash a second import recognises the token.
      equalHashColumn: 'imported_token_hash',
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

export const SealingController = sealingController(accountsSealingRpc, Database, [
  applications,
  oldKeys,
  users,
  events,
]);

type Rpc = typeof accountsSealingRpc;

const MINUTE_MS = 60_000;

@Controller()
export class RotationsController {
  constructor(
    private readonly rotations: SecretRotationsRepository,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'linkLifetimesMs'>,
  ) {}

  @RpcHandler(accountsSealingRpc.recordRotation)
  async recordRotation({ keyId, isChanged }: RpcData<Rpc['recordRotation']>): Promise<RpcReply<Rpc['recordRotation']>> {
    await this.rotations.record(keyId, isChanged);
    return {};
  }

  /** Until when links and codes in transit may need a replaced secret: the last ones were made just before the rotation was complete. */
  @RpcHandler(accountsSealingRpc.getRotation)
  async getRotation({ keyId }: RpcData<Rpc['getRotation']>): Promise<RpcReply<Rpc['getRotation']>> {
    const completedAt = await this.rotations.find(keyId);
    if (completedAt === undefined) return { linksUntil: null, codesUntil: null };
    const after = (milliseconds: number) => new Date(completedAt.getTime() + milliseconds).toISOString();
    const { linkLifetimesMs } = this.config;
    return {
      linksUntil: after(Math.max(linkLifetimesMs.verifyEmail, linkLifetimesMs.resetPassword)),
      codesUntil: after(MAX_CODE_TTL_MINUTES * MINUTE_MS),
    };
  }
}
