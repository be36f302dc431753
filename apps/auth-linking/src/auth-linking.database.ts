import { Database, type DatabaseOptions, ForwardMigration } from '#database';
import { PlatformCredentialEntity } from './credentials/credentials.repository.js';

/** A class of its own, so that one process can inject the databases of several services. */
export class AuthLinkingDatabase extends Database {}

export function authLinkingDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'auth_linking',
    applicationName: 'gatepost-auth-linking',
    entities: [PlatformCredentialEntity],
    migrations: [CreatePlatformCredentials1795900000000],
  };
}

// Why: what applications must know to have accounts of platforms verified; its secrets are sealed.
class CreatePlatformCredentials1795900000000 extends ForwardMigration {
  override readonly statements = [createPlatformCredentials];
}

/** `sealed_secrets` is there without any secret too: opening it shows whether the deployment's secret fits. */
const createPlatformCredentials = `
  CREATE TABLE auth_linking.platform_credentials (
    app_id         text NOT NULL,
    platform       text NOT NULL,
    kind           text NOT NULL,
    shown          jsonb NOT NULL,
    sealed_secrets text NOT NULL,
    updated_at     timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT platform_credentials_pkey PRIMARY KEY (app_id, platform)
  )`;
