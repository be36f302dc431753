import type { Socket } from 'node:net';
import { unescape } from 'node:querystring';
import { Logger } from '@nestjs/common';
import { type AmqpConnectionManager, connect } from 'amqp-connection-manager';
import { type Channel, type ChannelModel, type ConfirmChannel, type Connection, credentials } from 'amqplib';
import { messageOf } from '#errors';

/** Delay before a lost channel is reopened, so that a persistent error does not cause a busy loop. */
const REOPEN_MS = 1_000;

/** Sets up a new channel. It calls `lose` when the open channel can no longer be used because its queue is gone. */
export type Setup<C extends Channel> = (channel: C, lose: () => void) => Promise<void>;

/** A channel that is replaced when it is lost: with its connection, closed by the broker after an error, or by `lose`. */
export class ReconnectingChannel<C extends Channel> {
  readonly #logger = new Logger('RabbitMQ');
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

  static plain(connection: AmqpConnectionManager, setup: Setup<Channel>): ReconnectingChannel<Channel> {
    return new ReconnectingChannel(connection, (model) => model.createChannel(), setup);
  }

  static confirming(
    connection: AmqpConnectionManager,
    setup: Setup<ConfirmChannel>,
  ): ReconnectingChannel<ConfirmChannel> {
    return new ReconnectingChannel(connection, (model) => model.createConfirmChannel(), setup);
  }

  get current(): C | undefined {
    return this.#current;
  }

  retire(): void {
    this.#isRetired = true;
    clearTimeout(this.#timer);
    this.connection.removeListener('connect', this.#onConnect);
  }

  replace(channel: C, reason: Error): void {
    if (this.#current !== channel) return;
    this.#logger.warn(`channel: ${reason.message}`);
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
      this.#logger.warn(`channel: ${messageOf(error)}`);
      this.#reopenLater();
    }
    this.#isOpening = false;
  }

  async #readied(connection: ChannelModel): Promise<C> {
    const channel = await this.create(connection);
    const life = { isLost: false };
    const lose = () => {
      life.isLost = true;
      this.#lost(channel);
    };
    channel.once('close', lose);
    channel.on('error', (error: Error) => {
      this.#logger.warn(`channel: ${error.message}`);
    });
    try {
      await this.setup(channel, () => {
        this.#logger.warn('channel: a queue of its consumer is gone');
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

type Consume = (channel: Channel, lose: () => void) => Promise<string>;

/** A channel with one consumer, which can stop receiving messages before the channel closes. */
export class ConsumingChannel {
  readonly #channel: ReconnectingChannel<Channel>;
  #tag = '';

  constructor(connection: AmqpConnectionManager, consume: Consume) {
    this.#channel = ReconnectingChannel.plain(connection, async (channel, lose) => {
      this.#tag = await consume(channel, lose);
    });
  }

  isConsuming(): boolean {
    return this.#channel.current !== undefined;
  }

  /** The broker sends no further messages; messages that it has sent can still be acknowledged. */
  async stopConsuming(): Promise<void> {
    this.#channel.retire();
    await this.#channel.current?.cancel(this.#tag).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }
}

/** Closes a channel without waiting, because a connection that fails meanwhile sends no reply. */
function discard(channel: Channel): void {
  channel.close().catch(() => undefined);
}

/** @returns false where the channel has closed: amqplib throws an IllegalOperationError then */
export function whereOpen(use: () => unknown): boolean {
  try {
    use();
    return true;
  } catch {
    return false;
  }
}

const HEARTBEAT_SECONDS = 10;
const RECONNECT_SECONDS = 1;
/** Maximum silence of the broker until the connection is open, in milliseconds. Heartbeats start after that. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;

const failures = new WeakMap<AmqpConnectionManager, string>();

/** Why the last attempt to connect failed; undefined before it ends, and while connected. */
export function failureOf(connection: AmqpConnectionManager): string | undefined {
  return failures.get(connection);
}

export function describeFailure(error: Error): string {
  if (error.message.includes('ACCESS-REFUSED')) return 'RabbitMQ refused the login';
  // The broker's reason is lost in amqplib, which expected another reply to the request for the virtual host.
  if (error.message.includes('ConnectionOpenOk'))
    return 'RabbitMQ refused the virtual host: it does not exist, or the user has no permission for it';
  return `RabbitMQ does not answer (${(error as NodeJS.ErrnoException).code ?? error.message})`;
}

/** The login of a URL in UTF-8: amqplib would decode each byte of an escaped letter as a letter of its own. */
export function loginOf(url: string): { readonly credentials?: ReturnType<typeof credentials.plain> } {
  const { username, password } = new URL(url);
  if (`${username}${password}` === '') return {};
  return { credentials: credentials.plain(unescape(username), unescape(password)) };
}

/** Opens a connection in the background that reconnects by itself. @param name shown in RabbitMQ's list of connections, and in the log */
export function openConnection(url: string, name: string): AmqpConnectionManager {
  const logger = new Logger('RabbitMQ');
  const connection = connect([url], {
    heartbeatIntervalInSeconds: HEARTBEAT_SECONDS,
    reconnectTimeInSeconds: RECONNECT_SECONDS,
    connectionOptions: {
      ...loginOf(url),
      // Without noDelay, Nagle's algorithm delays a round trip by 40 ms.
      noDelay: true,
      timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveDelay: KEEP_ALIVE_MS,
      clientProperties: { connection_name: name },
    },
  });
  connection.on('connectFailed', ({ err }) => {
    const failure = describeFailure(err);
    if (failure !== failures.get(connection)) logger.warn(`${name}: cannot connect: ${err.message}`);
    failures.set(connection, failure);
  });
  connection.on('disconnect', ({ err }) => {
    logger.warn(`${name}: disconnected: ${err.message}`);
  });
  connection.on('connect', ({ connection: opened }) => {
    failures.delete(connection);
    coalesceWrites(socketOf(opened));
    logger.log(`${name}: connected`);
  });
  return connection;
}

export function socketOf(connection: Connection | ChannelModel): Socket {
  return (connection as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** One system call for all writes of a turn of the event loop. `write` is always true, or amqplib would queue what `writableLength` must show. */
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
