import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicBites } from '../periodic-bites.js';
import { RetentionRepository } from './retention.repository.js';

const INTERVAL_MS = 60_000;

/** Forgets what nobody asks for any more, a little every minute. */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #bites: PeriodicBites;

  constructor(retention: RetentionRepository) {
    this.#bites = new PeriodicBites({
      intervalMs: INTERVAL_MS,
      takeBite: () => retention.takeBite(),
      logger: new Logger('Retention'),
    });
  }

  onApplicationBootstrap(): void {
    this.#bites.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#bites.stop();
  }
}
