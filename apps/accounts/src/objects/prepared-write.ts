import type { Tx } from '#database';

/**
 * A write that is checked as far as it can be without its object, passwords hashed. What is left is quick and belongs
 * into a transaction, its own or one with other writes.
 */
export interface PreparedWrite<T> {
  readonly objectId: string;
  /** @throws AppError where the object's state or its ACL refuses; then the transaction must not be committed */
  run(tx: Tx): Promise<T>;
}

/** One that can also be all that is written: by fewer round trips than a transaction takes, where it allows that. */
export interface SingleWrite<T> extends PreparedWrite<T> {
  /** @throws AppError as `run` */
  runAlone(): Promise<T>;
}
