import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { Inject, Injectable } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';

/** Runs pieces of work a few at a time; the others wait in line up to a bound. */
export class BoundedQueue {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly concurrency: number,
    private readonly limit: number,
    private readonly onLengthChange: (length: number) => void,
  ) {}

  /** Starts the work when its turn comes. Undefined where the queue is full: the work will not run. */
  run<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#running < this.concurrency) return this.#start(work);
    if (this.#waiting.length >= this.limit) return undefined;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        this.#start(work).then(resolve, reject);
      });
      this.onLengthChange(this.#waiting.length);
    });
  }

  async #start<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.onLengthChange(this.#waiting.length);
    next();
  }
}

/** A password to hash, or, with a hash, one to compare with it. */
interface HashingJob {
  readonly text: string;
  readonly cost?: number;
  readonly hash?: string;
}

/**
 * What the thread runs. Only the thread's own priority is lowered (Linux keeps one for each): the event loop gets its
 * turn at once, however many passwords are being hashed. Where the whole process was started with less, it stays at that: only
 * root may raise it again.
 */
const PROGRAM = `
  const { getPriority, setPriority } = require('node:os');
  const { parentPort, workerData } = require('node:worker_threads');
  const bcrypt = require(workerData.bcrypt);
  if (process.platform === 'linux' && getPriority(0) < workerData.niceness) setPriority(0, workerData.niceness);
  parentPort.on('message', ({ text, cost, hash }) => {
    try {
      parentPort.postMessage({ value: hash === undefined ? bcrypt.hashSync(text, cost) : bcrypt.compareSync(text, hash) });
    } catch (error) {
      parentPort.postMessage({ failure: error.message });
    }
  });
`;
const NICENESS = 10;
const HEAP_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };

interface Outcome {
  readonly value?: string | boolean;
  readonly failure?: string;
}

/** A thread of its own for bcrypt: hashing there neither blocks the event loop nor holds the threads that files and DNS need. */
export class HashingThread {
  readonly #worker = new Worker(PROGRAM, {
    eval: true,
    resourceLimits: HEAP_LIMITS,
    workerData: { bcrypt: createRequire(import.meta.url).resolve('bcrypt'), niceness: NICENESS },
  });

  #job: { resolve: (outcome: Outcome) => void; reject: (error: Error) => void } | undefined;

  constructor() {
    this.#worker.on('message', (outcome: Outcome) => this.#job?.resolve(outcome));
    this.#worker.on('error', (error) => this.#job?.reject(error));
    this.#worker.on('exit', () => this.#job?.reject(new Error('the hashing thread has ended')));
    // Waiting for work keeps no process alive.
    this.#worker.unref();
  }

  /** Ends the thread; it takes no more jobs. */
  end(): void {
    void this.#worker.terminate();
  }

  /** Does one job; give it the next when this one is done. @returns the hash, or whether the password is right */
  async run(job: HashingJob): Promise<string | boolean> {
    this.#worker.ref();
    try {
      const { value, failure } = await new Promise<Outcome>((resolve, reject) => {
        this.#job = { resolve, reject };
        this.#worker.postMessage(job);
      });
      if (value === undefined) throw new Error(`bcrypt: ${failure ?? 'no answer'}`);
      return value;
    } finally {
      this.#job = undefined;
      this.#worker.unref();
    }
  }
}

/** Names how a stored hash was made, so that others can be told apart later. */
const SCHEME = 'bcrypt-sha256:';

/** Who has waited for so long, in milliseconds, is refused when its turn comes: nobody shall wait for five seconds in all. */
const MAX_WAIT_MS = 3_000;

/**
 * Hashes passwords: bcrypt of a SHA-256 digest, so that bytes beyond the 72nd and NUL bytes count. As many at once as
 * there are processors, the rest in a bounded queue; over the bound, and after three seconds, SERVICE_UNAVAILABLE.
 */
@Injectable()
export class PasswordHasher {
  readonly #queue: BoundedQueue;
  readonly #cost: number;
  readonly #idleThreads: HashingThread[] = [];
  readonly #dummyHash: Promise<string>;

  constructor(
    @Inject(ACCOUNTS_CONFIG) config: AccountsConfig,
    private readonly metrics: Metrics,
  ) {
    metrics.passwordQueue.set(0);
    this.#cost = config.passwordCost;
    this.#queue = new BoundedQueue(config.passwordConcurrency, config.passwordQueueLimit, (length) => {
      metrics.passwordQueue.set(length);
    });
    this.#dummyHash = this.hash('nobody has this password');
  }

  async hash(password: string): Promise<string> {
    return `${SCHEME}${await this.#limited({ text: digest(password), cost: this.#cost })}`;
  }

  async verify(password: string, stored: string): Promise<boolean> {
    if (!stored.startsWith(SCHEME)) throw new Error('the stored password has an unknown scheme');
    return (await this.#limited({ text: digest(password), hash: stored.slice(SCHEME.length) })) === true;
  }

  /** Takes as long as `verify`, for a user who does not exist or has no password: timing must not tell them apart. */
  async verifyNothing(password: string): Promise<false> {
    await this.verify(password, await this.#dummyHash);
    return false;
  }

  /** Whether a stored hash was made with other parameters than today's. */
  isOutdated(stored: string): boolean {
    return bcrypt.getRounds(stored.slice(SCHEME.length)) !== this.#cost;
  }

  async #limited(job: HashingJob): Promise<string | boolean> {
    const stop = this.metrics.passwords.startTimer();
    const queuedAt = performance.now();
    const turn = this.#queue.run(async () => {
      if (performance.now() - queuedAt > MAX_WAIT_MS) throw this.#refused();
      return this.#onThread(job);
    });
    if (turn === undefined) throw this.#refused();
    const result = await turn;
    stop();
    return result;
  }

  #refused(): AppError {
    this.metrics.passwordsRefused.inc();
    return appError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 2 });
  }

  /** The queue lets in as many at once as there shall be threads; one that fails is not used again. */
  async #onThread(job: HashingJob): Promise<string | boolean> {
    const thread = this.#idleThreads.pop() ?? new HashingThread();
    try {
      const result = await thread.run(job);
      this.#idleThreads.push(thread);
      return result;
    } catch (error) {
      thread.end();
      throw error;
    }
  }
}

function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}
