import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTVerifyGetKey, SignJWT } from 'jose';
import type { PlatformCredentials } from '#contracts';
import { AppError } from '#errors';
import {
  PLATFORM_TIMEOUT_MS,
  type PlatformEndpoint,
  type PlatformHttp,
  verificationDeadline,
} from './platform-http.js';
import {
  type Claim,
  optionalToken,
  type PlatformVerifier,
  type Proof,
  proofOf,
  refusal,
  requireUid,
  unavailable,
} from './platform.rules.js';
import { appleKey } from './signing-keys.js';

type Credentials = PlatformCredentials<'lc_apple'>;

const DEFAULT_URL = 'https://appleid.apple.com';
const ISSUER = 'https://appleid.apple.com';
const KEYS_PATH = '/auth/keys';
const MAX_IDENTITY_TOKEN_LENGTH = 8_192;
const CLIENT_SECRET_LIFETIME = '5m';
/** A withdrawn key is accepted for at most this time. */
const KEY_SET_MAX_AGE_MS = 600_000;
/** An unknown key id triggers a reload, at most once in this time, because clients can make up key ids. */
const KEY_SET_COOLDOWN_MS = 30_000;

/** Sign in with Apple, by an identity token, or a code for one. The email address in the token proves no owner: it is never used. */
export class AppleVerifier implements PlatformVerifier<'lc_apple'> {
  readonly kind = 'lc_apple';
  readonly #endpoint: PlatformEndpoint;
  readonly #keys: JWTVerifyGetKey;

  constructor(http: PlatformHttp) {
    this.#endpoint = http.endpoint(this.kind, DEFAULT_URL);
    const url = this.#endpoint.url(KEYS_PATH);
    this.#keys = createRemoteJWKSet(url, {
      cacheMaxAge: KEY_SET_MAX_AGE_MS,
      cooldownDuration: KEY_SET_COOLDOWN_MS,
      [customFetch]: async () => {
        const { status, body } = await this.#endpoint.get(url);
        return Response.json(body, { status });
      },
    });
  }

  async verify(claim: Claim, credentials: Credentials): Promise<Proof> {
    requireUid(claim);
    const deadline = verificationDeadline();
    const given = optionalToken(this.kind, claim, 'identity_token', MAX_IDENTITY_TOKEN_LENGTH);
    // A code must not replace an identity token that is refused.
    const identityToken = given ?? (await this.#exchangeCode(claim, credentials, deadline));
    return this.#withinTime(this.#verifyIdentityToken(identityToken, claim, credentials), deadline);
  }

  async #verifyIdentityToken(token: string, claim: Claim, credentials: Credentials): Promise<Proof> {
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        algorithms: ['RS256'],
        issuer: ISSUER,
        audience: clientIds(credentials),
        requiredClaims: ['exp', 'sub'],
      });
      return proofOf(this.kind, claim, { id: payload.sub });
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /** The code is valid once, for five minutes. */
  async #exchangeCode(claim: Claim, credentials: Credentials, deadline: AbortSignal): Promise<string> {
    const code = optionalToken(this.kind, claim, 'code');
    if (code === undefined) throw refusal(this.kind, 'identity_token or code is missing');
    const [clientId = ''] = clientIds(credentials);
    const form = {
      client_id: clientId,
      client_secret: await clientSecret(clientId, credentials),
      code,
      grant_type: 'authorization_code',
    };
    const { status, body } = await this.#endpoint.postForm(this.#endpoint.url('/auth/token'), form, deadline);
    if (body['error'] === 'invalid_client') throw unavailable(this.kind, 'our credentials are refused: invalid_client');
    const { id_token: token } = body;
    if (status !== 200 || typeof token !== 'string') throw refusal(this.kind, 'the code is wrong, used or too old');
    return token;
  }

  #failureOf(error: unknown): AppError {
    if (error instanceof AppError) return error;
    const isOfToken =
      error instanceof errors.JOSEError && error.code !== 'ERR_JWKS_INVALID' && error.code !== 'ERR_JOSE_GENERIC';
    // Only the error code of the library is certain to contain nothing of the token.
    if (isOfToken) return refusal(this.kind, `the identity token is not valid (${error.code})`);
    return unavailable(this.kind, 'the key set is unusable');
  }

  /** Another request may have begun the download of the keys, and may wait longer. Not `withTimeout`: all steps share one deadline. */
  #withinTime(verification: Promise<Proof>, deadline: AbortSignal): Promise<Proof> {
    const timeout = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => {
        reject(unavailable(this.kind, `no answer within ${PLATFORM_TIMEOUT_MS} ms`));
      });
    });
    return Promise.race([verification, timeout]);
  }
}

function clientIds({ clientId }: Credentials): string[] {
  return clientId
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

/** @throws AppError refusal if the application has no key for codes, SERVICE_UNAVAILABLE if its key is invalid */
async function clientSecret(clientId: string, { teamId, keyId, privateKey }: Credentials): Promise<string> {
  if (teamId === undefined || keyId === undefined || privateKey === undefined) {
    throw refusal('lc_apple', 'this application accepts no code, only an identity_token');
  }
  const key = appleKey(privateKey);
  if (key === undefined) throw unavailable('lc_apple', 'the private key among our credentials is not readable');
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience(ISSUER)
    .setIssuedAt()
    .setExpirationTime(CLIENT_SECRET_LIFETIME)
    .sign(key);
}
