import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { OnApplicationShutdown } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { Piscina } from 'piscina';
import { ConcurrencyLimiter } from '#bootstrap';
import type { ImportedPassword } from '#contracts';
import { AppError, appError } from '#errors';
import type { Metrics } from '#observability';
import { leancloudHash } from '../imported-password.mjs';

const SCHEME = 'bcrypt-sha256:';
/** The scheme of a LeanCloud hash that an import has hashed again: the salt of the inner hash stands before the outer one. */
const WRAPPED_SCHEME = 'bcrypt-leancloud:';

/** A job whose turn has not come by then is refused, so that no request takes five seconds in total. */
const MAX_WAIT_MS = 3_000;
const OVERLOADED = 'too many passwords wait to be hashed: add processor cores, or processes of this service';

/** In the sources and in the build alike: a thread cannot run TypeScript. */
const WORKER = fileURLToPath(new URL('./hashing.worker.mjs', import.meta.url));
const HEAP_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };

/** A password to hash; with `hash`, to compare; with `imported`, to compare and, where it is right, to hash. */
export type HashingJob = { readonly text: string } & (
  | { readonly cost: number }
  | { readonly hash: string }
  | { readonly imported: ImportedPassword; readonly password: string; readonly cost: number }
);

export interface PasswordHashing {
  readonly passwordCost: number;
  readonly passwordConcurrency: number;
  readonly passwordQueueLimit: number;
}

/** bcrypt of a SHA-256 digest: bytes beyond the 72nd and NUL bytes count. A full queue or a wait of over 3 s throws SERVICE_UNAVAILABLE (ADR 13). */
export class PasswordHasher implements OnApplicationShutdown {
  readonly #turns: ConcurrencyLimiter;
  readonly #threads: Piscina<HashingJob, string | boolean>;
  readonly #cost: number;
  readonly #dummyHash: string;
  #waiting = 0;

  constructor(
    config: PasswordHashing,
    private readonly metrics: Metrics,
  ) {
    metrics.passwordQueue.set(0);
    this.#cost = config.passwordCost;
    // A hash of no password: bcrypt compares with it in the usual time.
    this.#dummyHash = `${SCHEME}${bcrypt.genSaltSync(this.#cost)}${'.'.repeat(31)}`;
    this.#turns = new ConcurrencyLimiter({
      concurrency: config.passwordConcurrency,
      maxWaiting: config.passwordQueueLimit,
    });
    this.#threads = new Piscina({
      filename: WORKER,
      minThreads: 0,
      maxThreads: config.passwordConcurrency,
      idleTimeout: Infinity,
      // A thread that waits for work by a message, not by Atomics.wait, can be ended at any time.
      atomics: 'disabled',
      resourceLimits: HEAP_LIMITS,
    });
  }

  async hash(password: string): Promise<string> {
    return `${SCHEME}${await this.#limited({ text: digest(password), cost: this.#cost })}`;
  }

  async verify(password: string, stored: string): Promise<boolean> {
    return (await this.#limited(comparison(password, stored))) === true;
  }

  /** Takes the time of `verify`, or that of the hash's cost. @returns our own hash of the right password; undefined for a wrong one */
  async verifyImported(password: string, imported: ImportedPassword): Promise<string | undefined> {
    const hash = await this.#limited({ text: digest(password), imported, password, cost: this.#cost });
    return typeof hash === 'string' ? `${SCHEME}${hash}` : undefined;
  }

  /** Hashes the hash of LeanCloud, so that the database holds no fast hash. */
  async wrap({ salt, hash }: { readonly salt: string; readonly hash: string }): Promise<string> {
    const outer = await this.#limited({ text: digest(hash), cost: this.#cost });
    return `${WRAPPED_SCHEME}${Buffer.from(salt).toString('base64url')}:${String(outer)}`;
  }

  /** Takes as long as `verify`, for a user who does not exist or has no password, so timing does not reveal them. */
  async verifyNothing(password: string): Promise<false> {
    await this.verify(password, this.#dummyHash);
    return false;
  }

  isOutdated(stored: string): boolean {
    return !stored.startsWith(SCHEME) || bcrypt.getRounds(stored.slice(SCHEME.length)) !== this.#cost;
  }

  onApplicationShutdown(): Promise<void> {
    return this.#threads.destroy();
  }

  async #limited(job: HashingJob): Promise<string | boolean> {
    const stop = this.metrics.passwords.startTimer();
    const start = () => {
      this.#countWaiting(-1);
      return this.#threads.run(job);
    };
    this.#countWaiting(1);
    try {
      const result = await this.#turns.run(start, { deadlineMs: performance.now() + MAX_WAIT_MS });
      stop();
      return result;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#countWaiting(-1);
      this.metrics.passwordsRefused.inc();
      throw appError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 2, cause: new Error(OVERLOADED, { cause: error }) });
    }
  }

  #countWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.metrics.passwordQueue.set(this.#waiting);
  }
}

function comparison(password: string, stored: string): HashingJob {
  if (stored.startsWith(SCHEME)) return { text: digest(password), hash: stored.slice(SCHEME.length) };
  const [, salt, hash] = stored.startsWith(WRAPPED_SCHEME) ? stored.split(':', 3) : [];
  if (salt === undefined || hash === undefined) throw new Error('the stored password has an unknown scheme');
  const inner = leancloudHash(Buffer.from(salt, 'base64url').toString('utf8'), password);
  return { text: digest(inner), hash };
}

function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}
