import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';

/** Counts what includes add to one answer: what no answer could carry is refused before it is made. */
export class IncludeBudget {
  #bytes = 0;

  /** @throws AppError OBJECT_TOO_LARGE where it is too much together */
  spend(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_MESSAGE_BYTES) throw appError('OBJECT_TOO_LARGE');
  }
}
