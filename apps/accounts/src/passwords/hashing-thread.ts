import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

/** A password to hash, or, with a hash, one to compare with it. */
export interface HashingJob {
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
