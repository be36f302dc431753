import { Inject, Injectable, Logger } from '@nestjs/common';
import type * as Client from 'openid-client';
import { Clock } from '#bootstrap';
import { appError } from '#errors';
import { CONSOLE_CONFIG, type ConsoleConfig, type OidcConfig, PublicUrl } from '../console.config.js';
import type { IssuerAccount } from './oidc.repository.js';
import { rightsOf } from './operator.rules.js';

const logger = new Logger('Issuer');

export const CALLBACK_PATH = '/api/oidc/callback';
const TIMEOUT_SECONDS = 5;
const DESCRIPTION_MS = 3_600_000;
const MAX_CLOCK_AHEAD_MS = 30_000;
const MAX_NAME_LENGTH = 100;
const ADDRESS = /^[^\s@\p{Cc}]{1,200}@[^\s@\p{Cc}]{1,253}$/u;
/** RFC 6749, section 4.1.2.1: another attempt can succeed. */
const PASSING = new Set(['server_error', 'temporarily_unavailable']);

export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** With the time at which the account last entered its credentials there; undefined if the issuer gives none. */
export interface ProvenAccount extends IssuerAccount {
  readonly authenticatedAt: Date | undefined;
}

interface Session {
  readonly client: typeof Client;
  readonly issuer: Client.Configuration;
}

interface Description {
  readonly readAtMs: number;
  readonly session: Promise<Session>;
}

/** The OpenID Connect issuer: authorization code flow with PKCE. The first sign-in loads the library. */
@Injectable()
export class Issuer {
  #description: Description | undefined;

  constructor(
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
    private readonly url: PublicUrl,
    private readonly clock: Clock,
  ) {}

  /** @param asksAgain whether the issuer must ask for the credentials anew @throws AppError NOT_FOUND without an issuer, OIDC_ISSUER_AWAY */
  async authorizationUrl({ state, nonce, verifier }: SignInSecrets, asksAgain: boolean): Promise<string> {
    const { client, issuer } = await this.#session();
    const url = client.buildAuthorizationUrl(issuer, {
      redirect_uri: this.#callback().href,
      scope: this.#scope(issuer.serverMetadata()),
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(asksAgain ? { prompt: 'login', max_age: '0' } : {}),
    });
    return url.href;
  }

  /** @param answer the query of the issuer's redirect @throws AppError NOT_FOUND, OIDC_DENIED, OIDC_ANSWER_INVALID, OIDC_ISSUER_AWAY */
  async account(answer: URLSearchParams, { state, nonce, verifier }: SignInSecrets): Promise<ProvenAccount> {
    const { client, issuer } = await this.#session();
    const url = this.#callback();
    url.search = answer.toString();
    try {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await client.authorizationCodeGrant(issuer, url, checks);
      const claims = this.#usable(tokens.claims());
      const isComplete = claims['email'] !== undefined && (this.#oidc.roles.length === 0 || 'groups' in claims);
      const further =
        isComplete || issuer.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await client.fetchUserInfo(issuer, tokens.access_token, claims.sub);
      return this.#accountOf({ ...further, ...claims });
    } catch (error) {
      throw refusalOf(error, client);
    }
  }

  get #oidc(): OidcConfig {
    if (this.config.oidc === null) throw appError('NOT_FOUND', { message: 'This console has no issuer.' });
    return this.config.oidc;
  }

  #callback(): URL {
    return new URL(CALLBACK_PATH, this.url.origin);
  }

  /** Issuers refuse unknown scopes. */
  #scope({ scopes_supported: known }: Client.ServerMetadata): string {
    const asksForGroups = this.#oidc.roles.length > 0 && known?.includes('groups') === true;
    return `openid email profile${asksForGroups ? ' groups' : ''}`;
  }

  /** The library accepts an empty subject, and a time of issue in the future. */
  #usable(claims: Client.IDToken | undefined): Client.IDToken {
    const latestMs = this.clock.now().getTime() + MAX_CLOCK_AHEAD_MS;
    if (claims !== undefined && claims.sub !== '' && claims.iat * 1_000 <= latestMs) return claims;
    logger.warn('a sign-in by the OpenID Connect issuer has failed: its ID token has no subject, or is of the future');
    throw appError('OIDC_ANSWER_INVALID');
  }

  #accountOf(claims: Client.IDToken | (Client.UserInfoResponse & Client.IDToken)): ProvenAccount {
    const { issuer, roles } = this.#oidc;
    // Metadata for several tenants names no issuer; each tenant could then give any subject.
    if (new URL(claims.iss).href !== new URL(issuer).href) throw appError('OIDC_ANSWER_INVALID');
    const { email, groups, name, auth_time: authTime } = claims;
    const address = typeof email === 'string' && ADDRESS.test(email) ? email : undefined;
    return {
      issuer,
      subject: claims.sub,
      name: nameOf(name) ?? address ?? claims.sub.slice(0, MAX_NAME_LENGTH),
      address,
      isVerified: claims.email_verified === true,
      rights: rightsOf(textsOf(groups), roles),
      authenticatedAt:
        typeof authTime === 'number' ? new Date(Math.min(authTime * 1_000, this.clock.now().getTime())) : undefined,
    };
  }

  /** After a failure the next sign-in tries again. */
  async #session(): Promise<Session> {
    const nowMs = this.clock.now().getTime();
    if (this.#description === undefined || nowMs - this.#description.readAtMs > DESCRIPTION_MS)
      this.#description = { readAtMs: nowMs, session: discover(this.#oidc) };
    const { session } = this.#description;
    try {
      return await session;
    } catch (error) {
      if (this.#description.session === session) this.#description = undefined;
      logger.warn(`the OpenID Connect issuer cannot be used: ${reasonOf(error)}`);
      throw appError('OIDC_ISSUER_AWAY');
    }
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<Session> {
  const client = await import('openid-client');
  const secret = clientSecret.reveal();
  const found = await client.discovery(new URL(issuer), clientId, secret, authenticationBy(client, secret), {
    timeout: TIMEOUT_SECONDS,
    // Without it the signature of an ID token from the token endpoint is not checked.
    execute: [client.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [withoutTls(client)] : [])],
  });
  return { client, issuer: found };
}

/** On loopback only. */
function withoutTls(client: typeof Client): (configuration: Client.Configuration) => void {
  // oxlint-disable-next-line typescript/no-deprecated -- marked so to stand out; the configuration allows loopback only
  return client.allowInsecureRequests;
}

/** OpenID Connect's default is HTTP Basic. */
function authenticationBy(client: typeof Client, secret: string): Client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const isBasic = methods === undefined || methods.includes('client_secret_basic');
    (isBasic ? basic : post)(server, ...rest);
  };
}

/** Logs the code of the reason only: the library's errors hold tokens. */
function refusalOf(error: unknown, client: typeof Client): unknown {
  if (error instanceof client.AuthorizationResponseError)
    return PASSING.has(error.error) ? appError('OIDC_ISSUER_AWAY') : appError('OIDC_DENIED');
  const refusal = isAway(error, client) ? appError('OIDC_ISSUER_AWAY') : invalid(error, client);
  if (refusal !== error) logger.warn(`a sign-in by the OpenID Connect issuer has failed: ${reasonOf(error)}`);
  return refusal;
}

function invalid(error: unknown, client: typeof Client): unknown {
  const isRefusal =
    error instanceof client.ClientError ||
    error instanceof client.ResponseBodyError ||
    error instanceof client.WWWAuthenticateChallengeError;
  return isRefusal ? appError('OIDC_ANSWER_INVALID') : error;
}

function isAway(error: unknown, client: typeof Client): boolean {
  if (error instanceof client.ResponseBodyError) return error.status >= 500;
  if (!(error instanceof client.ClientError)) return error instanceof TypeError;
  if (error.code === 'OAUTH_TIMEOUT') return true;
  return error.cause instanceof Response && error.cause.status >= 500;
}

function reasonOf(error: unknown): string {
  const {
    code,
    error: name,
    message,
    cause,
  } = error as Partial<Record<'cause' | 'code' | 'error' | 'message', unknown>>;
  const { code: causeCode } = (cause ?? {}) as { code?: unknown };
  return [message, code, name, causeCode].filter((text) => typeof text === 'string').join(', ');
}

function nameOf(name: unknown): string | undefined {
  const text =
    typeof name === 'string'
      ? name
          .replaceAll(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, MAX_NAME_LENGTH)
      : '';
  return text === '' ? undefined : text;
}

/** Issuers send one group as a text, several as a list. */
function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((text): text is string => typeof text === 'string');
}
