import { Database, type DatabaseOptions } from '#database';
import { PlatformCredentialEntity } from './credentials/platform-credential.entity.js';
import { CreatePlatformCredentials1795900000000 } from './migrations/1795900000000-create-platform-credentials.js';

/** The database of auth-linking, beside that of accounts where one process runs both. */
export class AuthLinkingDatabase extends Database {}

/** Where the auth-linking service keeps its data; `gatepost migrate` and the service itself use it. */
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
