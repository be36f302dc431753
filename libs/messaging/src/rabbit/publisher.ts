import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel, Message, Options } from 'amqplib';
import { appError } from '#errors';
import { failForwarded } from '../handlers.js';
import { LastingChannel, openConnection, type Setup, socketOf } from './broker-connection.js';

/** Counts work in hand, and waits for its end. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();

  get count(): number {
    return this.#running.size;
  }

  /** Follows a piece of work until it ends. */
  add(work: Promise<unknown>): void {
    this.#running.add(work);
    const remove = () => this.#running.delete(work);
    work.then(remove, remove);
  }

  /** Resolves when all work has ended, or when the time is over. */
  async settled(timeoutMs: number): Promise<void> {
    await settledWithin(this.#running, timeoutMs);
  }
}

/** Resolves when all work has ended, well or badly, or when the time is over. */
export async function settledWithin(work: Iterable<Promise<unknown>>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.allSettled(work), timeout]);
  clearTimeout(timer);
}

/** How long the broker may take to confirm a message, in milliseconds. */
const CONFIRM_TIMEOUT_MS = 5_000;
/** Messages of one process that wait for a reply or a confirm; beyond it new ones are refused at once. */
const MAX_PENDING = 10_000;
/** Their bytes, and those that the socket has not taken: five of the longest messages. A process has some hundred MiB of memory. */
const MAX_PENDING_BYTES = 64 * 1_024 * 1_024;
/**
 * RabbitMQ says that it blocks a connection when the connection publishes. A process that has published nothing for so long
 * publishes an empty message to no queue, so that it knows.
 */
const PROBE_INTERVAL_MS = 1_000;
/** What the broker reads first when an alarm ends was sent before: it has come, or has expired, by then. */
const RECOVERY_MS = 10_000;

/** Where a message goes. */
export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

/** The broker said nothing for 5 seconds: it may have the message or not. */
class UnconfirmedError extends Error {}

/** Publishes a message. Resolves once the broker has it; rejects where it refuses, or says nothing for 5 seconds. */
export function confirmedPublish(
  channel: ConfirmChannel,
  { exchange, routingKey }: Route,
  content: Buffer,
  options: Options.Publish,
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.publish(exchange, routingKey, content, options, (error: unknown) => {
      clearTimeout(timer);
      if (error instanceof Error) reject(error);
      else resolve();
    });
    const timer = setTimeout(() => {
      reject(new UnconfirmedError('the message broker did not confirm in time'));
    }, CONFIRM_TIMEOUT_MS);
  });
}

/**
 * Everything that a process publishes, on a connection of its own: RabbitMQ reads nothing from a connection that publishes
 * while it is short of memory or disk, and consumers must acknowledge meanwhile. New messages are refused at once while the
 * broker blocks, and where too much waits already.
 */
export class Publisher {
  readonly #logger = new Logger('RabbitMQ');
  readonly #connection: AmqpConnectionManager;
  readonly #confirming: LastingChannel<ConfirmChannel>;
  readonly #transient: LastingChannel<Channel>;
  readonly #channels: Pick<LastingChannel<Channel>, 'current' | 'close'>[] = [];
  readonly #probe: NodeJS.Timeout;
  #socket: Socket | undefined;
  /** The broker's reason, while it blocks. */
  #blockedFor: string | undefined;
  #recoveredAt = -Infinity;
  #pending = 0;
  #pendingBytes = 0;
  #hasPublished = false;

  constructor(url: string, name: string, declare: (channel: Channel) => Promise<void>) {
    this.#connection = openConnection(url, name);
    this.#connection.on('connect', ({ connection }) => {
      this.#socket = socketOf(connection);
    });
    this.#connection.on('disconnect', () => {
      this.#socket = undefined;
      this.#unblock();
    });
    this.#connection.on('blocked', ({ reason }) => {
      this.#blockedFor = reason;
      this.#logger.warn(`RabbitMQ takes no messages: ${reason}`);
    });
    this.#connection.on('unblocked', () => {
      this.#unblock();
      this.#logger.log('RabbitMQ takes messages again');
    });
    this.#confirming = LastingChannel.confirming(this.#connection, declare);
    this.#channels.push(this.#confirming);
    this.#transient = this.openChannel((channel) => {
      channel.on('return', (message: Message) => {
        this.#answerReturned(message);
      });
      return Promise.resolve();
    });
    this.#probe = setInterval(() => {
      this.#publishProbe();
    }, PROBE_INTERVAL_MS);
    this.#probe.unref();
  }

  /** The broker's reason for taking no messages; undefined where it takes them. */
  get blockedFor(): string | undefined {
    return this.#blockedFor;
  }

  /** Whether messages may come that were sent before the broker took messages again. */
  get isRecovering(): boolean {
    return this.#blockedFor !== undefined || performance.now() - this.#recoveredAt < RECOVERY_MS;
  }

  /** Bytes of messages that wait for a reply or a confirm, and bytes that the socket has not taken. */
  get pendingBytes(): number {
    return this.#pendingBytes + this.#unsentBytes;
  }

  get #unsentBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  isOpen(): boolean {
    return this.#channels.every(({ current }) => current !== undefined);
  }

  /** Calls the listener each time when the broker stops to take messages. */
  onBlocked(listener: () => void): void {
    this.#connection.on('blocked', listener);
  }

  /** A further channel of this connection. */
  openChannel(setup: Setup<Channel>): LastingChannel<Channel> {
    const channel = LastingChannel.plain(this.#connection, setup);
    this.#channels.push(channel);
    return channel;
  }

  /**
   * Counts a message that waits for a reply or a confirm, until `release`.
   * @throws AppError SERVICE_UNAVAILABLE where the broker takes none, or too much waits
   */
  reserve(bytes: number): void {
    const problem = this.#problemOf(bytes);
    if (problem !== undefined) throw appError('SERVICE_UNAVAILABLE', { cause: new Error(problem) });
    this.#pending += 1;
    this.#pendingBytes += bytes;
    this.#hasPublished = true;
  }

  release(bytes: number): void {
    this.#pending -= 1;
    this.#pendingBytes -= bytes;
  }

  /**
   * Publishes what must not be lost. Resolves once the broker has it.
   * @throws AppError SERVICE_UNAVAILABLE where it is not published; Error where the broker refuses it, or does not confirm within
   * 5 seconds: then it may have it or not
   */
  async publish(route: Route, content: Buffer, options: Options.Publish): Promise<void> {
    const channel = this.#confirming.current;
    if (channel === undefined)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('not connected to the message broker') });
    this.reserve(content.length);
    try {
      await confirmedPublish(channel, route, content, options);
    } catch (error) {
      // amqplib keeps what is not confirmed as long as the channel: without an end where the broker never does.
      if (error instanceof UnconfirmedError && this.#blockedFor === undefined) this.#confirming.replace(channel, error);
      throw error;
    } finally {
      this.release(content.length);
    }
  }

  /**
   * Publishes what may be lost, such as replies: their callers have a deadline. While the broker blocks, it waits in the socket
   * and leaves afterwards; what does not fit there is dropped.
   */
  send({ exchange, routingKey }: Route, content: Buffer, options: Options.Publish): void {
    if (this.#unsentBytes + content.length > MAX_PENDING_BYTES) return;
    this.#hasPublished = true;
    try {
      this.#transient.current?.publish(exchange, routingKey, content, options);
    } catch {
      // IllegalOperationError: the channel has just closed.
    }
  }

  async closeChannels(): Promise<void> {
    clearInterval(this.#probe);
    await Promise.allSettled(this.#channels.map((channel) => channel.close()));
  }

  async close(timeoutMs: number): Promise<void> {
    await settledWithin([this.#connection.close()], timeoutMs);
    // A broker that blocks does not read that we leave, and its end of the connection would keep the process.
    this.#socket?.destroy();
  }

  #problemOf(bytes: number): string | undefined {
    if (this.#blockedFor !== undefined) return `RabbitMQ takes no messages: ${this.#blockedFor}`;
    if (this.#pending >= MAX_PENDING) return 'too many messages wait for a reply or a confirm';
    return this.pendingBytes + bytes > MAX_PENDING_BYTES ? 'too many bytes wait for the message broker' : undefined;
  }

  #unblock(): void {
    if (this.#blockedFor === undefined) return;
    this.#blockedFor = undefined;
    this.#recoveredAt = performance.now();
  }

  /** Not before all channels are open: on a connection that is blocked, none can be opened. */
  #publishProbe(): void {
    const isIdle = !this.#hasPublished && this.#blockedFor === undefined && this.isOpen();
    this.#hasPublished = false;
    if (isIdle) this.send({ exchange: '', routingKey: 'gatepost.probe' }, Buffer.alloc(0), {});
  }

  /** A forwarded question whose service does not run: its caller gets the answer from here. */
  #answerReturned({ properties: { replyTo, correlationId } }: Message): void {
    const content = Buffer.from(failForwarded('no such service runs'));
    this.send({ exchange: '', routingKey: String(replyTo) }, content, { correlationId: String(correlationId) });
  }
}
