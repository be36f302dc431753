import { Database, type DatabaseOptions } from '#database';
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
    migrations: [CreatePlatformCredentials1795900000000],
  };
}
