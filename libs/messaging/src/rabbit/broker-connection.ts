import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { type AmqpConnectionManager, connect } from 'amqp-connection-manager';
import type { Channel, ChannelModel, ConfirmChannel, Connection } from 'amqplib';
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

const HEARTBEAT_SECONDS = 10;
const RECONNECT_SECONDS = 1;

/** Opens a connection in the background that reconnects by itself. @param name shown in RabbitMQ's list of connections, and in the log */
export function openConnection(url: string, name: string): AmqpConnectionManager {
  const logger = new Logger('RabbitMQ');
  const connection = connect([url], {
    heartbeatIntervalInSeconds: HEARTBEAT_SECONDS,
    reconnectTimeInSeconds: RECONNECT_SECONDS,
    // Without noDelay a round trip waits 40 ms for Nagle's algorithm.
    connectionOptions: { noDelay: true, clientProperties: { connection_name: name } },
  });
  connection.on('connectFailed', ({ err }) => {
    logger.warn(`${name}: cannot connect: ${err.message}`);
  });
  connection.on('disconnect', ({ err }) => {
    logger.warn(`${name}: disconnected: ${err.message}`);
  });
  connection.on('connect', ({ connection: opened }) => {
    coalesceWrites(socketOf(opened));
    logger.log(`${name}: connected`);
  });
  return connection;
}

/** The socket under a connection. */
export function socketOf(connection: Connection | ChannelModel): Socket {
  return (connection as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/**
 * From now on, what is written to the socket in one turn leaves in one system call. amqplib writes each message by itself: under
 * load those calls are the largest part of a message's cost, here and for the broker that reads them. `write` always says that
 * there is room: amqplib would otherwise keep messages in buffers of its own, and only what is in the socket's can be measured
 * (`writableLength`). The publisher bounds it.
 */
function coalesceWrites(socket: Socket): void {
  const write = socket.write.bind(socket);
  const uncork = () => {
    socket.uncork();
  };
  socket.write = ((...chunk: Parameters<typeof write>) => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(uncork);
    }
    write(...chunk);
    return true;
  }) as typeof socket.write;
}
