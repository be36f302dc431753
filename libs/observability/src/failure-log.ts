import type { Logger } from '@nestjs/common';
import { AppError, isServerAway, messageOf } from '#errors';

/** A failure that goes on for the same reason is logged at warn once in so many milliseconds. */
const REPEAT_MS = 600_000;

/**
 * Logs the failures of work that is repeated without a caller. A failure is logged at warn when it begins, when its reason
 * changes, and every ten minutes while it lasts; its end at log. A server that cannot be reached is logged at debug: the
 * readiness check of that server reports it.
 */
export class FailureLog {
  #warned: { readonly reason: string; readonly at: number } | undefined;

  /** @param work the subject of the log lines */
  constructor(
    private readonly logger: Logger,
    private readonly work: string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  failed(error: unknown): void {
    const reason = reasonOf(error);
    const at = this.nowMs();
    const isKnown = this.#warned?.reason === reason && at - this.#warned.at < REPEAT_MS;
    if (isKnown || isServerAway(error)) {
      this.logger.debug(`${this.work} failed: ${reason}`);
      return;
    }
    this.#warned = { reason, at };
    this.logger.warn(`${this.work} failed: ${reason}`);
  }

  succeeded(): void {
    if (this.#warned === undefined) return;
    this.#warned = undefined;
    this.logger.log(`${this.work} succeeds again`);
  }
}

/** The public text of an AppError does not say why: its cause does. */
function reasonOf(error: unknown): string {
  return messageOf(error instanceof AppError && error.cause instanceof Error ? error.cause : error);
}
