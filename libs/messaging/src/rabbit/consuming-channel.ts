import type { AmqpConnectionManager, ChannelWrapper } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel } from 'amqplib';
import { reportErrors } from './channel-errors.js';

/** Starts to consume on a fresh channel, the first and those after a reconnect. @returns the consumer tag */
export type Consume<C extends Channel> = (channel: C) => Promise<string>;

type Follow = (channel: Channel, consuming: Promise<string>) => Promise<void>;

/** A channel with one consumer that can stop to take messages before the channel closes. */
export class ConsumingChannel {
  readonly #wrapper: ChannelWrapper;
  #stopConsuming: (() => Promise<unknown>) | undefined;

  private constructor(open: (follow: Follow) => ChannelWrapper) {
    this.#wrapper = open((channel, consuming) => this.#follow(channel, consuming));
    reportErrors(this.#wrapper);
  }

  /** Without publisher confirms: for what is transient. */
  static plain(connection: AmqpConnectionManager, consume: Consume<Channel>): ConsumingChannel {
    return new ConsumingChannel((follow) =>
      connection.createChannel({ setup: (channel: Channel) => follow(channel, consume(channel)) }),
    );
  }

  /** With publisher confirms: for what must not be lost. */
  static confirming(connection: AmqpConnectionManager, consume: Consume<ConfirmChannel>): ConsumingChannel {
    return new ConsumingChannel((follow) =>
      connection.createChannel({
        confirm: true,
        setup: (channel: ConfirmChannel) => follow(channel, consume(channel)),
      }),
    );
  }

  /** From now on the broker sends nothing more; what it has sent can still be answered. */
  async stopConsuming(): Promise<void> {
    await this.#stopConsuming?.().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#wrapper.close();
  }

  async #follow(channel: Channel, consuming: Promise<string>): Promise<void> {
    const tag = await consuming;
    const stopConsuming = () => channel.cancel(tag);
    this.#stopConsuming = stopConsuming;
    channel.once('close', () => {
      if (this.#stopConsuming === stopConsuming) this.#stopConsuming = undefined;
    });
  }
}
