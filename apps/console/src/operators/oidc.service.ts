import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { appError } from '#errors';
import { Sealer } from '#security';
import { CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from '../console.config.js';
import type { ConsoleRequest, SignedIn } from '../routing/console-handler.js';
import { CALLBACK_PATH, Issuer, type ProvenAccount, type SignInSecrets } from './issuer.js';
import { OidcRepository } from './oidc.repository.js';
import { SecondFactorsRepository } from './second-factors.repository.js';

const STATE_SECONDS = 600;
/** Concurrent sign-ins of one browser. */
const MAX_COOKIES = 4;
/** By which the issuer's clock may be behind. */
const CLOCK_DIFFERENCE_MS = 30_000;

export type Purpose = 'connection' | 'proof' | 'signIn';

interface BegunSignIn extends SignInSecrets {
  readonly purpose: Purpose;
  readonly to: string | undefined;
  /** Null for a sign-in. */
  readonly operatorId: string | null;
  readonly sessionId: string | null;
  readonly begunAtMs: number;
}

export interface FinishedSignIn {
  readonly purpose: Purpose;
  readonly to: string | null;
  readonly account: ProvenAccount;
}

type BrowserRequest = Pick<ConsoleRequest, 'cookies' | 'setCookies' | 'signedIn'>;

@Injectable()
export class OidcService {
  constructor(
    private readonly issuer: Issuer,
    private readonly repository: OidcRepository,
    private readonly challenges: SecondFactorsRepository,
    private readonly sealer: Sealer,
    private readonly url: PublicUrl,
    private readonly clock: Clock,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {}

  get issuerName(): string | null {
    return this.config.oidc === null ? null : new URL(this.config.oidc.issuer).host;
  }

  /** Sets the cookie that `finish` needs. @returns the issuer's URL @throws AppError NOT_FOUND, OIDC_ISSUER_AWAY */
  async begin(request: BrowserRequest, purpose: Purpose, to?: string): Promise<{ url: string }> {
    const signedIn = purpose === 'signIn' ? undefined : request.signedIn;
    const [state, nonce, verifier] = [randomText(), randomText(), randomText()];
    const begun: BegunSignIn = {
      ...{ state, nonce, verifier, purpose, to },
      operatorId: signedIn?.id ?? null,
      sessionId: signedIn?.sessionId ?? null,
      begunAtMs: this.clock.now().getTime(),
    };
    const url = await this.issuer.authorizationUrl(begun, purpose === 'proof');
    await this.challenges.addChallenge(challengeOf(state), begun.operatorId, `${STATE_SECONDS} seconds`);
    // Browsers send the oldest cookie first (RFC 6265, section 5.4).
    const names = request.cookies.map(([name]) => name);
    const older = names.filter((name) => name.startsWith(this.#prefix)).slice(0, 1 - MAX_COOKIES);
    request.setCookies.push(
      ...older.map((name) => this.#cookie(name, '', 0)),
      this.#cookie(this.#nameFor(state), this.sealer.seal(JSON.stringify(begun), contextOf(state)), STATE_SECONDS),
    );
    return { url };
  }

  /** @param answer the query of the issuer's redirect @throws AppError OIDC_STATE_INVALID for a foreign, expired or used sign-in; as `Issuer.account` */
  async finish(request: BrowserRequest, answer: string): Promise<FinishedSignIn> {
    const parameters = new URLSearchParams(answer);
    const state = parameters.get('state') ?? '';
    const begun = this.#begunIn(request, state);
    const isSameSession = begun.sessionId === null || begun.sessionId === request.signedIn?.sessionId;
    if (!isSameSession || !(await this.challenges.useChallenge(challengeOf(state), begun.operatorId)))
      throw appError('OIDC_STATE_INVALID');
    const account = await this.issuer.account(parameters, begun);
    if (begun.purpose === 'proof') await this.#assertProof(begun, account);
    return { purpose: begun.purpose, to: begun.to ?? null, account };
  }

  async signIn(
    { issuer, subject, ...account }: ProvenAccount,
    source: Pick<ConsoleRequest, 'id' | 'network'>,
  ): Promise<{ id: string; credential: string }> {
    const mapsGroups = (this.config.oidc?.roles.length ?? 0) > 0;
    const id = await this.repository.signIn({ ...account, issuer, subject }, mapsGroups, source);
    return { id, credential: `${issuer} ${subject}` };
  }

  connect(owner: SignedIn, account: ProvenAccount, source: Pick<ConsoleRequest, 'id' | 'network'>): Promise<void> {
    return this.repository.connect(owner, account, source);
  }

  async disconnect(owner: SignedIn): Promise<void> {
    if (!this.config.passwords)
      throw appError('NO_EFFECT', { message: 'The issuer is the only way to sign in to this console.' });
    await this.repository.disconnect(owner);
  }

  #begunIn({ cookies, setCookies }: BrowserRequest, state: string): BegunSignIn {
    const name = this.#nameFor(state);
    const sealed = cookies.find(([key]) => key === name)?.[1];
    if (sealed === undefined) throw appError('OIDC_STATE_INVALID');
    setCookies.push(this.#cookie(name, '', 0));
    try {
      return JSON.parse(this.sealer.open(sealed, contextOf(state))) as BegunSignIn;
    } catch {
      throw appError('OIDC_STATE_INVALID');
    }
  }

  async #assertProof(begun: BegunSignIn, account: ProvenAccount): Promise<void> {
    const isFresh = (account.authenticatedAt?.getTime() ?? 0) >= begun.begunAtMs - CLOCK_DIFFERENCE_MS;
    if (!isFresh || !(await this.repository.isConnected(begun.operatorId ?? '', account)))
      throw appError('OIDC_PROOF_MISSING');
  }

  get #prefix(): string {
    return `${this.url.isEncrypted ? '__Secure-' : ''}gatepost-oidc-`;
  }

  /** One cookie for each sign-in: several tabs do not interfere. */
  #nameFor(state: string): string {
    return `${this.#prefix}${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;
  }

  #cookie(name: string, value: string, seconds: number): string {
    const flags = `HttpOnly; SameSite=Lax${this.url.isEncrypted ? '; Secure' : ''}`;
    return `${name}=${value}; Path=${COOKIE_PATH}; Max-Age=${seconds}; ${flags}`;
  }
}

/** Of the callback, and of the route that begins a sign-in. */
const COOKIE_PATH = CALLBACK_PATH.slice(0, CALLBACK_PATH.lastIndexOf('/'));

function randomText(): string {
  return randomBytes(32).toString('base64url');
}

/** The stored challenge, which the first reply uses up. Passkeys have others. */
function challengeOf(state: string): string {
  return `oidc ${state}`;
}

function contextOf(state: string): string {
  return `sign-in by the issuer ${state}`;
}
