import type { Channel } from 'amqplib';
import type { LastingChannel } from './lasting-channel.js';

/** Starts to consume on a fresh channel; `lose` is for a consumer that the broker cancels. @returns the consumer tag */
export type Consume<C extends Channel> = (channel: C, lose: () => void) => Promise<string>;

type Open<C extends Channel> = (
  setup: (channel: C, lose: () => void) => Promise<void>,
) => Pick<LastingChannel<C>, 'current' | 'retire' | 'close'>;

/** A channel with one consumer that can stop to take messages before the channel closes. */
export class ConsumingChannel<C extends Channel> {
  readonly #channel: ReturnType<Open<C>>;
  /** Of the current channel's consumer. */
  #tag = '';

  constructor(open: Open<C>, consume: Consume<C>) {
    this.#channel = open(async (channel, lose) => {
      this.#tag = await consume(channel, lose);
    });
  }

  isConsuming(): boolean {
    return this.#channel.current !== undefined;
  }

  /** From now on the broker sends nothing more; what it has sent can still be answered. */
  async stopConsuming(): Promise<void> {
    this.#channel.retire();
    await this.#channel.current?.cancel(this.#tag).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }
}
