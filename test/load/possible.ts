/** What became of a change: a change that was not answered may have happened or not. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** A value on a server, as far as its answers tell: the acknowledged one, or one that a later, unanswered change would have made of it. */
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
