import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { clientNetworkOf } from '#admission';
import { Clock } from '#bootstrap';
import { type AppError, appError, isAppError, messageOf } from '#errors';
import { PasswordHasher } from '#security/passwords';
import { CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from '../console.config.js';
import {
  ATTEMPT_WINDOW_MS,
  lockedUntil,
  MAX_ANONYMOUS_ACTS,
  MAX_ANONYMOUS_ACTS_PER_NETWORK,
  MAX_ATTEMPTS_PER_ADDRESS,
  MAX_ATTEMPTS_PER_NETWORK,
} from './operator.rules.js';
import { addressKey, OperatorsRepository } from './operators.repository.js';
import { SecondFactors } from './second-factors.js';
import { type LinkKind, SignInRepository } from './sign-in.repository.js';

const HOUR_SECONDS = 3_600;
/** The fragment of a link's URL: it reaches no log, no proxy and no referrer. */
const PATHS: Readonly<Record<LinkKind, string>> = { invitation: 'invitation', recovery: 'recover', setUp: 'set-up' };
const SECONDS: Readonly<Record<LinkKind, number>> = {
  invitation: 24 * HOUR_SECONDS,
  recovery: 24 * HOUR_SECONDS,
  setUp: HOUR_SECONDS,
};

export interface Link {
  readonly url: string;
  readonly endsAt: string;
}

/** An operator whose identity was proven. `passwordHash`: the stored hash at that time. */
interface CheckedOperator {
  readonly id: string;
  readonly passwordHash: string;
}

interface GivenProof {
  readonly password: string;
  readonly code?: string | undefined;
}

interface AttemptReservation {
  readonly key: string;
  readonly reservedAt: string;
}

/** Checks passwords under the limits of attempts, and makes sessions and links. */
@Injectable()
export class SignInService {
  readonly #logger = new Logger('SignIn');

  constructor(
    private readonly operators: OperatorsRepository,
    private readonly repository: SignInRepository,
    private readonly factors: SecondFactors,
    private readonly hasher: PasswordHasher,
    private readonly url: PublicUrl,
    private readonly clock: Clock,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {}

  /** Unknown addresses cost and answer like known ones. @throws AppError PASSWORD_MISMATCH, SECOND_FACTOR_REQUIRED or _MISMATCH, TOO_MANY_REQUESTS */
  async checkSignIn(address: string, given: GivenProof, clientAddress: string): Promise<CheckedOperator> {
    const reservations = await this.#reserveAll([
      [`network:${clientNetworkOf(clientAddress)}`, MAX_ATTEMPTS_PER_NETWORK],
      [attemptKey(address), MAX_ATTEMPTS_PER_ADDRESS],
    ]);
    const known = await this.#releaseUnlessWrong(reservations, () => this.#check(address, given));
    // Not after a correct password alone: with a stolen password, codes could be guessed without limit.
    await this.repository.forgetAttempts(attemptKey(address));
    await this.#release(reservations);
    return known;
  }

  /** Counts attempts of this session: those of others at the address must not keep the operator from a proof. @throws as `checkSignIn` */
  async checkOwn(
    { address, sessionId }: { readonly address: string; readonly sessionId: string },
    given: GivenProof,
  ): Promise<CheckedOperator> {
    const reservation = await this.#reserve(`session:${sessionId}`, MAX_ATTEMPTS_PER_ADDRESS);
    const known = await this.#releaseUnlessWrong([reservation], () => this.#check(address, given));
    await this.repository.forgetAttempts(reservation.key);
    return known;
  }

  /** Beyond the limit an act gets no audit entry. @returns whether all networks together are within theirs @throws AppError TOO_MANY_REQUESTS */
  async countAnonymousAct(clientAddress: string, path: string): Promise<boolean> {
    // Guesses of passwords do not lock sign-ins by the issuer.
    const kind = path.startsWith('/oidc/') ? 'oidc' : 'anonymous';
    await this.#reserve(`${kind}:${clientNetworkOf(clientAddress)}`, MAX_ANONYMOUS_ACTS_PER_NETWORK);
    return (await this.repository.reserveAttempt(`${kind}:*`, MAX_ANONYMOUS_ACTS)) !== undefined;
  }

  /** Whether the body of an act without a session names an operator, a link or a passkey that there is. */
  async isKnown(body: unknown): Promise<boolean> {
    const { address, token, response } = body as { address?: unknown; token?: unknown; response?: { id?: unknown } };
    if (typeof token === 'string') return (await this.repository.findLink(token)) !== undefined;
    if (typeof address === 'string') return (await this.operators.nameAt(address)) !== undefined;
    // An answer of the issuer is a text.
    if (typeof response !== 'object') return true;
    return typeof response.id === 'string' && this.factors.hasPasskey(response.id);
  }

  assertPasswords(): void {
    if (!this.config.passwords) throw appError('PASSWORDS_OFF');
  }

  hash(password: string): Promise<string> {
    return this.hasher.hash(password);
  }

  async assertLink(token: string): Promise<void> {
    if ((await this.repository.findLink(token)) === undefined) throw appError('LINK_EXPIRED');
  }

  async createLink(kind: LinkKind, operatorId: string | null): Promise<Link> {
    if (kind !== 'invitation') this.assertPasswords();
    const { token, endsAt } = await this.repository.createLink(kind, operatorId, SECONDS[kind]);
    return { url: `${this.url.origin}/${PATHS[kind]}#${token}`, endsAt: endsAt.toISOString() };
  }

  async locks(addresses: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const attempts = await this.repository.attempts(addresses.map(attemptKey));
    const now = this.clock.now();
    return new Map(
      addresses.flatMap((address) => {
        const until = lockedUntil(attempts.get(attemptKey(address)) ?? [], MAX_ATTEMPTS_PER_ADDRESS, now);
        return until === undefined ? [] : [[address, until]];
      }),
    );
  }

  /** Only a wrong password or code counts as an attempt. */
  async #releaseUnlessWrong<T>(reservations: readonly AttemptReservation[], work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const isWrong = isAppError(error, 'PASSWORD_MISMATCH') || isAppError(error, 'SECOND_FACTOR_MISMATCH');
      if (!isWrong) await this.#release(reservations);
      throw error;
    }
  }

  async #check(address: string, { password, code }: GivenProof): Promise<CheckedOperator> {
    const known = await this.#compare(address, password);
    if (!known.hasSecondFactor) return this.#rehashed(known, address, password);
    if (code === undefined) throw appError('SECOND_FACTOR_REQUIRED');
    if (!(await this.factors.useCode(known.id, code))) throw appError('SECOND_FACTOR_MISMATCH');
    return this.#rehashed(known, address, password);
  }

  /** Replaces a hash of another cost than GATEPOST_PASSWORD_COST: it would be compared in another time than that of an unknown address. */
  async #rehashed(known: CheckedOperator, address: string, password: string): Promise<CheckedOperator> {
    if (!this.hasher.isOutdated(known.passwordHash)) return known;
    try {
      const after = await this.hasher.hash(password);
      const isReplaced = await this.operators.rehash(known.id, { before: known.passwordHash, after });
      // A concurrent sign-in has replaced the hash.
      return isReplaced ? { id: known.id, passwordHash: after } : await this.#compare(address, password);
    } catch (error) {
      // The next sign-in retries it; this one has succeeded, and has used its code.
      this.#logger.debug(`the password was not rehashed: ${messageOf(error)}`);
      return known;
    }
  }

  async #release(reservations: readonly AttemptReservation[]): Promise<void> {
    for (const { key, reservedAt } of reservations) await this.repository.releaseAttempt(key, reservedAt);
  }

  async #compare(address: string, password: string): Promise<CheckedOperator & { hasSecondFactor: boolean }> {
    const known = await this.operators.credentials(address);
    const isCorrect =
      known === undefined
        ? await this.hasher.verifyNothing(password)
        : await this.hasher.verify(password, known.passwordHash);
    if (isCorrect && known !== undefined) return known;
    throw appError('PASSWORD_MISMATCH', { message: 'The address and the password do not match.' });
  }

  /** Releases the earlier ones where a limit is reached. */
  async #reserveAll(limits: readonly (readonly [key: string, limit: number])[]): Promise<AttemptReservation[]> {
    const reservations: AttemptReservation[] = [];
    try {
      for (const [key, limit] of limits) reservations.push(await this.#reserve(key, limit));
      return reservations;
    } catch (error) {
      await this.#release(reservations);
      throw error;
    }
  }

  async #reserve(key: string, limit: number): Promise<AttemptReservation> {
    const reservedAt = await this.repository.reserveAttempt(key, limit);
    if (reservedAt === undefined) throw await this.#refusal(key, limit);
    return { key, reservedAt };
  }

  async #refusal(key: string, limit: number): Promise<AppError> {
    const times = (await this.repository.attempts([key])).get(key) ?? [];
    const now = this.clock.now();
    const until = lockedUntil(times, limit, now) ?? new Date(now.getTime() + ATTEMPT_WINDOW_MS);
    return appError('TOO_MANY_REQUESTS', {
      message: 'Too many attempts.',
      retryAfterSeconds: Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1_000)),
    });
  }
}

/** A hash: operators sometimes type a password into the field of the address. */
function attemptKey(address: string): string {
  return `address:${createHash('sha256').update(addressKey(address)).digest('base64url')}`;
}
