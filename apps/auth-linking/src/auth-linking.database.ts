import { Database, type DatabaseOptions } from '#database';
import { PlatformCredentialEntity } from './credentials/credentials.repository.js';
import { CreatePlatformCredentials1795900000000 } from './migrations/1795900000000-create-platform-credentials.js';

/** A class of its own, so that one process can inject the databases of several services. */
export class AuthLinkingDatabase extends Database {}

/** The schema and migrations, for `gatepost migrate` and for the service. */
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
