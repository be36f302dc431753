import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { Codes } from './code-platforms.js';
import { NOT_FOUND, type PlatformCall, type PlatformReply, randomText, type StandInPlatform } from './platform-call.js';

const ISSUER = 'https://appleid.apple.com';
const DAY_SECONDS = 86_400;
const RSA_BITS = 2_048;

/** The claims of an identity token; claims that are not given are as Apple would write them for our app. */
interface IdentityClaims {
  readonly sub: string;
  readonly aud?: string;
  readonly iss?: string;
  /** Negative: has expired. */
  readonly secondsLeft?: number;
  readonly email?: string;
}

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Apple: identity tokens, GET /auth/keys, POST /auth/token. */
export class ApplePlatform implements StandInPlatform {
  readonly credentials: {
    readonly clientId: string;
    readonly teamId: string;
    readonly keyId: string;
    readonly privateKey: string;
  };
  /** Whether the key set says which algorithm a key is for. */
  namesAlgorithm = true;
  readonly #clientKey: KeyObject;
  readonly #codes = new Codes<string>();
  #signingKey = newSigningKey();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    this.#clientKey = createPublicKey(publicKey);
    this.credentials = {
      clientId: 'com.example.app,com.example.web',
      teamId: 'TEAM123456',
      keyId: 'KEY1234567',
      privateKey,
    };
  }

  /** The key that tokens are signed with. An attacker knows its name and its public half. */
  get signingKey(): SigningKey {
    return this.#signingKey;
  }

  /** From now on tokens are signed with another key, and the key set holds only that. */
  rotateKeys(): void {
    this.#signingKey = newSigningKey();
  }

  /** @param key another key than Apple's, for forged tokens */
  identityToken(
    claims: IdentityClaims,
    key: Pick<SigningKey, 'kid' | 'privateKey'> = this.#signingKey,
  ): Promise<string> {
    const { sub, aud = this.#clientId, iss = ISSUER, secondsLeft = DAY_SECONDS, email } = claims;
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ nonce_supported: true, ...(email === undefined ? {} : { email, email_verified: true }) })
      .setProtectedHeader({ alg: 'RS256', kid: key.kid })
      .setIssuer(iss)
      .setSubject(sub)
      .setAudience(aud)
      .setIssuedAt(now)
      .setExpirationTime(now + secondsLeft)
      .sign(key.privateKey);
  }

  /** A code of the first client id that gives an identity token once. */
  async issueCode(claims: IdentityClaims): Promise<string> {
    return this.#codes.issue(await this.identityToken(claims));
  }

  async answer({ method, path, body }: PlatformCall): Promise<PlatformReply> {
    if (method === 'GET' && path === '/auth/keys') return { body: { keys: [await this.#jwk()] } };
    if (method !== 'POST' || path !== '/auth/token') return NOT_FOUND;
    const form = new URLSearchParams(body);
    if (!(await this.#isClient(form))) return { status: 400, body: { error: 'invalid_client' } };
    const token = form.get('grant_type') === 'authorization_code' ? this.#codes.use(form.get('code') ?? '') : undefined;
    if (token === undefined) return { status: 400, body: { error: 'invalid_grant' } };
    const tokens = { access_token: randomText(), refresh_token: randomText(), id_token: token };
    return { body: { ...tokens, token_type: 'Bearer', expires_in: 3_600 } };
  }

  get #clientId(): string {
    return this.credentials.clientId.split(',')[0] ?? '';
  }

  async #jwk(): Promise<JWK> {
    const { kid, publicKey } = this.#signingKey;
    return { ...(await exportJWK(publicKey)), kid, use: 'sig', ...(this.namesAlgorithm ? { alg: 'RS256' } : {}) };
  }

  async #isClient(form: URLSearchParams): Promise<boolean> {
    try {
      const { protectedHeader } = await jwtVerify(form.get('client_secret') ?? '', this.#clientKey, {
        algorithms: ['ES256'],
        issuer: this.credentials.teamId,
        subject: this.#clientId,
        audience: ISSUER,
        requiredClaims: ['iat', 'exp'],
      });
      return protectedHeader.kid === this.credentials.keyId && form.get('client_id') === this.#clientId;
    } catch {
      return false;
    }
  }
}

/** A key that might be Apple's. */
export function newSigningKey(): SigningKey {
  return { kid: randomText(), ...generateKeyPairSync('rsa', { modulusLength: RSA_BITS }) };
}
