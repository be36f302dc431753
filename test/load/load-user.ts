import { unique } from '#testing';

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

/** How many mails were asked for. */
interface Owed {
  least: number;
  most: number;
}

/** A user with an account, and the server's answers about it. */
export class LoadUser {
  readonly username = unique('user');
  readonly email = `${this.username}@example.com`;
  /** None where the sign-up was not answered: the user may be there or not. */
  id: string | undefined;
  /** The token of the latest answer. */
  session = '';
  readonly password = new Possible('correct horse');
  readonly score = new Possible(0);
  readonly note = new Possible(0);
  readonly isVerified = new Possible(false);
  readonly mails: Owed = { least: 0, most: 0 };
}
