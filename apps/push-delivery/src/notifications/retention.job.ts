import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { messageOf } from '#errors';
import { RetentionRepository } from './retention.repository.js';

const INTERVAL_MS = 60_000;

/** Forgets what nobody asks for any more, a little every minute. */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Retention');
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #run: Promise<void> = Promise.resolve();

  constructor(private readonly retention: RetentionRepository) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#run = this.#run.then(() => this.#forget());
    }, INTERVAL_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#run;
  }

  async #forget(): Promise<void> {
    try {
      while (!this.#isStopping && (await this.retention.takeBite()));
    } catch (error) {
      this.logger.debug(`put off: ${messageOf(error)}`);
    }
  }
}
