/** The outcome of a change: an unanswered change may have happened or not. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** A value on a server, as far as its answers show: the acknowledged one, or the result of a later, unanswered change. */
export class Possible<T> {
  #values: readonly T[];

  constructor(value: T) {
    this.#values = [value];
  }

  get values(): readonly T[] {
    return this.#values;
  }

  apply(change: (value: T) => T, outcome: Outcome): void {
    if (outcome === 'refused') return;
    const changed = this.#values.map(change);
    this.#values = outcome === 'acknowledged' ? [...new Set(changed)] : [...new Set([...this.#values, ...changed])];
  }

  allows(value: T): boolean {
    return this.#values.includes(value);
  }
}
