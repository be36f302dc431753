import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { Inject, Injectable } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';

/** The scheme of a stored hash, so later schemes can be distinguished. */
const SCHEME = 'bcrypt-sha256:';

/** A job that has waited longer is refused in its turn, so no request takes five seconds in total. */
const MAX_WAIT_MS = 3_000;

/**
 * Hashes passwords: bcrypt of a SHA-256 digest, so bytes beyond the 72nd and NUL bytes count. One job per processor runs at once,
 * the rest waits in a bounded queue; a full queue and a wait of over three seconds throw SERVICE_UNAVAILABLE.
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
    this.#dummyHash = this.hash('the password of no user');
  }

  async hash(password: string): Promise<string> {
    return `${SCHEME}${await this.#limited({ text: digest(password), cost: this.#cost })}`;
  }

  async verify(password: string, stored: string): Promise<boolean> {
    if (!stored.startsWith(SCHEME)) throw new Error('the stored password has an unknown scheme');
    return (await this.#limited({ text: digest(password), hash: stored.slice(SCHEME.length) })) === true;
  }

  /** Takes as long as `verify`, for a user who does not exist or has no password, so timing does not reveal them. */
  async verifyNothing(password: string): Promise<false> {
    await this.verify(password, await this.#dummyHash);
    return false;
  }

  /** Whether a stored hash has another cost than the configured one. */
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

  /** The queue limits the number of threads; a failed thread is not reused. */
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

/** Runs a limited number of jobs at once; the others wait in a queue of limited length. */
export class BoundedQueue {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly concurrency: number,
    private readonly limit: number,
    private readonly onLengthChange: (length: number) => void,
  ) {}

  /** Runs the work in its turn. @returns undefined if the queue is full: then the work does not run */
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

/** A password to hash or, with `hash`, to compare. */
interface HashingJob {
  readonly text: string;
  readonly cost?: number;
  readonly hash?: string;
}

/**
 * The program of the thread. It lowers only the thread's own priority (Linux has one per thread), so the event loop is scheduled
 * first however many passwords are hashed. A process that was started with a lower priority keeps it: only root may raise it.
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

/** A thread for bcrypt: hashing neither blocks the event loop nor occupies the libuv threads of files and DNS. */
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
    // An idle thread does not keep the process alive.
    this.#worker.unref();
  }

  end(): void {
    void this.#worker.terminate();
  }

  /** Runs one job; callers wait for its end before the next. @returns the hash, or whether the password is right */
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

function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}
