import { importPKCS8, SignJWT } from 'jose';
import type { PlatformCredentials } from '#contracts';
import { refusal, unavailable } from './platform-errors.js';

const LIFETIME = '5m';

/**
 * The password with which an app exchanges codes: a JWT, signed with its own key.
 *
 * @throws AppError refusal where the application takes no codes, SERVICE_UNAVAILABLE where its key is none
 */
export async function appleClientSecret(
  clientId: string,
  { teamId, keyId, privateKey }: PlatformCredentials<'lc_apple'>,
  audience: string,
): Promise<string> {
  if (teamId === undefined || keyId === undefined || privateKey === undefined) {
    throw refusal('lc_apple', 'this application takes no code, only an identity_token');
  }
  const key = await importPKCS8(privateKey, 'ES256').catch(() => {
    // Without the cause: it may quote the key.
    throw unavailable('lc_apple', 'the private key among our credentials is not readable');
  });
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(LIFETIME)
    .sign(key);
}
