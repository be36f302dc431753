import { Logger } from '@nestjs/common';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';
import { messageOf } from '#errors';

/** Time between the loss of a channel and the next, so that an error that stays does not spin. */
const REOPEN_MS = 1_000;

/** Readies a fresh channel. It calls `lose` when the channel, though open, serves no longer: its queue is gone. */
export type Setup<C extends Channel> = (channel: C, lose: () => void) => Promise<void>;

/**
 * A channel that is replaced when it is lost: with its connection, closed by the broker after an error, or by `lose`.
 * The connection manager's own wrapper replaces it in the first case only.
 */
export class LastingChannel<C extends Channel> {
  private readonly logger = new Logger('RabbitMQ');
  #current: C | undefined;
  #isOpening = false;
  #isRetired = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #onConnect = () => {
    void this.#open();
  };

  private constructor(
    private readonly connection: AmqpConnectionManager,
    private readonly create: (connection: ChannelModel) => Promise<C>,
    private readonly setup: Setup<C>,
  ) {
    connection.on('connect', this.#onConnect);
    void this.#open();
  }

  /** Without publisher confirms: for what is transient. */
  static plain(connection: AmqpConnectionManager, setup: Setup<Channel>): LastingChannel<Channel> {
    return new LastingChannel(connection, (model) => model.createChannel(), setup);
  }

  /** With publisher confirms: for what must not be lost. */
  static confirming(connection: AmqpConnectionManager, setup: Setup<ConfirmChannel>): LastingChannel<ConfirmChannel> {
    return new LastingChannel(connection, (model) => model.createConfirmChannel(), setup);
  }

  /** The channel, where there is one that is ready. */
  get current(): C | undefined {
    return this.#current;
  }

  /** From now on a lost channel is not replaced. */
  retire(): void {
    this.#isRetired = true;
    clearTimeout(this.#timer);
    this.connection.removeListener('connect', this.#onConnect);
  }

  /** Gives up a channel that is open but no longer of use; another takes its place. */
  replace(channel: C, reason: Error): void {
    if (this.#current !== channel) return;
    this.logger.warn(`channel: ${reason.message}`);
    this.#lost(channel);
    discard(channel);
  }

  async close(): Promise<void> {
    this.retire();
    const channel = this.#current;
    this.#current = undefined;
    await channel?.close();
  }

  async #open(): Promise<void> {
    const { connection } = this.connection;
    if (connection === undefined || this.#isRetired || this.#isOpening || this.#current !== undefined) return;
    this.#isOpening = true;
    try {
      this.#current = await this.#readied(connection);
    } catch (error) {
      this.logger.warn(`channel: ${messageOf(error)}`);
      this.#reopenLater();
    }
    this.#isOpening = false;
  }

  /** @throws where the channel was lost before it was ready */
  async #readied(connection: ChannelModel): Promise<C> {
    const channel = await this.create(connection);
    const life = { isLost: false };
    const lose = () => {
      life.isLost = true;
      this.#lost(channel);
    };
    channel.once('close', lose);
    channel.on('error', (error: Error) => {
      this.logger.warn(`channel: ${error.message}`);
    });
    try {
      await this.setup(channel, () => {
        this.logger.warn('channel: its consumer was cancelled');
        lose();
        discard(channel);
      });
      if (life.isLost || this.#isRetired) throw new Error('lost before it was ready');
    } catch (error) {
      discard(channel);
      throw error;
    }
    return channel;
  }

  #lost(channel: C): void {
    if (this.#current !== channel) return;
    this.#current = undefined;
    this.#reopenLater();
  }

  #reopenLater(): void {
    if (this.#isRetired) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onConnect, REOPEN_MS);
  }
}

/** Starts to consume on a fresh channel; `lose` is for a consumer that the broker cancels. @returns the consumer tag */
type Consume = (channel: Channel, lose: () => void) => Promise<string>;

/** A channel with one consumer that can stop to take messages before the channel closes. */
export class ConsumingChannel {
  readonly #channel: LastingChannel<Channel>;
  /** Of the current channel's consumer. */
  #tag = '';

  constructor(connection: AmqpConnectionManager, consume: Consume) {
    this.#channel = LastingChannel.plain(connection, async (channel, lose) => {
      this.#tag = await consume(channel, lose);
    });
  }

  isConsuming(): boolean {
    return this.#channel.current !== undefined;
  }

  /** From now on the broker sends nothing more; what it has sent can still be acknowledged. */
  async stopConsuming(): Promise<void> {
    this.#channel.retire();
    await this.#channel.current?.cancel(this.#tag).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }
}

/** Closes a channel without waiting: on a connection that dies meanwhile there is no answer. */
function discard(channel: Channel): void {
  channel.close().catch(() => undefined);
}
