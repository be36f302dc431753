import { Injectable } from '@nestjs/common';
import { AppError } from '#errors';

/** Resolves when the part can serve; rejects with the reason, in words an operator understands. */
type ReadinessCheck = () => Promise<void> | void;

const CHECK_TIMEOUT_MS = 2_000;

/** Knows whether this process can serve. Parts register their checks; draining overrides them all. */
@Injectable()
export class Readiness {
  readonly #checks = new Map<string, ReadinessCheck>();
  #draining = false;

  /** Adds a check under the name of the part it looks at. */
  register(name: string, check: ReadinessCheck): void {
    this.#checks.set(name, check);
  }

  /** From now on the process reports that it is going away. */
  startDraining(): void {
    this.#draining = true;
  }

  /** The reasons why the process cannot serve now; empty when it can. */
  async problems(): Promise<string[]> {
    if (this.#draining) return ['draining'];
    const outcomes = await Promise.all([...this.#checks].map(([name, check]) => this.#problemOf(name, check)));
    return outcomes.filter((problem) => problem !== undefined);
  }

  async #problemOf(name: string, check: ReadinessCheck): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, CHECK_TIMEOUT_MS, `${name}: no answer`);
    });
    const outcome = Promise.resolve()
      .then(check)
      .then(() => undefined)
      .catch((error: unknown) => `${name}: ${reasonOf(error)}`);
    return Promise.race([outcome, timeout]).finally(() => {
      clearTimeout(timer);
    });
  }
}

/** Checks speak for operators in plain errors and errors of ours; what comes from deeper down may tell too much. */
function reasonOf(error: unknown): string {
  const isForOperators = error instanceof AppError || (error instanceof Error && error.name === 'Error');
  return isForOperators ? error.message : 'failed';
}
