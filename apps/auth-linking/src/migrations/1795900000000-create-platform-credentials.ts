// Why: what applications must know to have accounts of platforms verified; its secrets are sealed.
import { ForwardMigration } from '#database';

export class CreatePlatformCredentials1795900000000 extends ForwardMigration {
  override readonly statements = [createPlatformCredentials];
}

/** `sealed_secrets` is there without any secret too: opening it tells whether the deployment's secret fits. */
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
