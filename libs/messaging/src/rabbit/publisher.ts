import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel, Message, MessageProperties, Options } from 'amqplib';
import { appError, withTimeout } from '#errors';
import { failForwarded } from '../handlers.js';
import { ReconnectingChannel, openConnection, type Setup, socketOf, whereOpen } from './broker-connection.js';

/** Counts work in progress, and waits for its end. Not `ConcurrencyLimiter`, because nothing waits for a turn: the server refuses instead. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();

  get count(): number {
    return this.#running.size;
  }

  add(work: Promise<unknown>): void {
    this.#running.add(work);
    const remove = () => this.#running.delete(work);
    work.then(remove, remove);
  }

  async settled(timeoutMs: number): Promise<void> {
    await withTimeout(Promise.allSettled(this.#running), timeoutMs);
  }
}

const CONFIRM_TIMEOUT_MS = 5_000;
/** Maximum number of messages of one process that wait for a reply or a confirm; further ones are refused. */
const MAX_PENDING = 10_000;
/** Maximum total of their bytes and the socket's unsent bytes: five messages of maximum size. A process has a few hundred MiB of memory. */
const MAX_PENDING_BYTES = 64 * 1_024 * 1_024;
/** RabbitMQ reports a block only to a connection that publishes: an idle process publishes an empty message without a queue. */
const PROBE_INTERVAL_MS = 1_000;
/** After an alarm, the broker first reads older messages. After this time, all of them have been read or have expired. */
const RECOVERY_MS = 10_000;

/** Tolerated difference between clocks (the doctor warns of larger ones) plus the resolution of timestamps, which is one second. */
const TOLERATED_MS = 3_000;

export function expiringAfter(timeoutMs: number): Pick<Options.Publish, 'expiration' | 'timestamp'> {
  return { expiration: timeoutMs, timestamp: Math.floor(Date.now() / 1_000) };
}

/** The broker counts the expiration from when it reads the message, and a blocking one reads nothing: only the sender's clock counts. */
export function hasCallerGivenUp({ expiration, timestamp }: MessageProperties): boolean {
  return typeof timestamp === 'number' && Date.now() > timestamp * 1_000 + Number(expiration) + TOLERATED_MS;
}

export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

/** The message may or may not be stored. */
class UnconfirmedError extends Error {}

export class UnroutableError extends Error {}

/** The ids of the mandatory messages that the broker has returned on a channel, and not confirmed yet. */
const returnedIds = new WeakMap<ConfirmChannel, string[]>();

function returnedOn(channel: ConfirmChannel): string[] {
  const known = returnedIds.get(channel);
  if (known !== undefined) return known;
  const ids: string[] = [];
  returnedIds.set(channel, ids);
  channel.on('return', ({ properties }: Message) => ids.push(String(properties.messageId)));
  return ids;
}

/** The broker confirms a returned message, too, after the return. @returns whether it has returned a message of this id */
function takeReturn(channel: ConfirmChannel, { messageId = '' }: Options.Publish): boolean {
  const ids = returnedOn(channel);
  const index = ids.indexOf(messageId);
  if (index !== -1) ids.splice(index, 1);
  return index !== -1;
}

/** Resolves once the broker has confirmed. @throws UnroutableError where the message is mandatory (it needs an id) and its queue does not exist */
export function confirmedPublish(
  channel: ConfirmChannel,
  { exchange, routingKey }: Route,
  content: Buffer,
  options: Options.Publish,
): Promise<void> {
  if (options.mandatory === true) returnedOn(channel);
  return new Promise((resolve, reject) => {
    channel.publish(exchange, routingKey, content, options, (error: unknown) => {
      clearTimeout(timer);
      if (error instanceof Error) reject(error);
      else if (options.mandatory === true && takeReturn(channel, options))
        reject(new UnroutableError(`the message broker has no queue for ${routingKey}`));
      else resolve();
    });
    const timer = setTimeout(() => {
      reject(new UnconfirmedError('the message broker did not confirm in time'));
    }, CONFIRM_TIMEOUT_MS);
  });
}

/** The publishing connection of a process (ADR 27). It refuses messages while the broker blocks it, and above the limits for pending ones. */
export class Publisher {
  readonly #logger = new Logger('RabbitMQ');
  readonly #connection: AmqpConnectionManager;
  readonly #confirming: ReconnectingChannel<ConfirmChannel>;
  readonly #transient: ReconnectingChannel<Channel>;
  readonly #channels: Pick<ReconnectingChannel<Channel>, 'current' | 'close'>[] = [];
  readonly #probe: NodeJS.Timeout;
  #socket: Socket | undefined;
  #blockedFor: string | undefined;
  #recoveredAt = -Infinity;
  #pending = 0;
  #pendingBytes = 0;
  #hasPublished = false;
  #declaring: Promise<void> | undefined;

  constructor(
    url: string,
    name: string,
    private readonly declare: (channel: Channel) => Promise<void>,
  ) {
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
      this.#logger.warn(`RabbitMQ accepts no messages: ${reason}`);
    });
    this.#connection.on('unblocked', () => {
      this.#unblock();
      this.#logger.log('RabbitMQ takes messages again');
    });
    this.#confirming = ReconnectingChannel.confirming(this.#connection, declare);
    this.#channels.push(this.#confirming);
    this.#transient = this.openChannel((channel) => {
      channel.on('return', (message: Message) => {
        this.#replyToReturned(message);
      });
      return Promise.resolve();
    });
    this.#probe = setInterval(() => {
      this.#publishProbe();
    }, PROBE_INTERVAL_MS);
    this.#probe.unref();
  }

  get blockedFor(): string | undefined {
    return this.#blockedFor;
  }

  /** Messages may arrive that were sent while the broker accepted none. */
  get isRecovering(): boolean {
    return this.#blockedFor !== undefined || performance.now() - this.#recoveredAt < RECOVERY_MS;
  }

  get pendingBytes(): number {
    return this.#pendingBytes + this.#unsentBytes;
  }

  get #unsentBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  isOpen(): boolean {
    return this.#channels.every(({ current }) => current !== undefined);
  }

  onBlocked(listener: () => void): void {
    this.#connection.on('blocked', listener);
  }

  openChannel(setup: Setup<Channel>): ReconnectingChannel<Channel> {
    const channel = ReconnectingChannel.plain(this.#connection, setup);
    this.#channels.push(channel);
    return channel;
  }

  /** Until `release`. @throws AppError SERVICE_UNAVAILABLE where the broker accepts no messages, or a limit is reached */
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

  /** For messages that must not be lost. After an error of `confirmedPublish` the message may be stored all the same. */
  async publish(route: Route, content: Buffer, options: Options.Publish): Promise<void> {
    const channel = this.#confirming.current;
    if (channel === undefined)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('not connected to the message broker') });
    this.reserve(content.length);
    try {
      await confirmedPublish(channel, route, content, options);
    } catch (error) {
      // amqplib holds an unconfirmed message, which the broker may never confirm, as long as the channel is open.
      if (error instanceof UnconfirmedError && this.#blockedFor === undefined) this.#confirming.replace(channel, error);
      throw error;
    } finally {
      this.release(content.length);
    }
  }

  /** For messages that may be lost, such as replies. While the broker blocks the connection, they wait in the socket, up to the limit. */
  send({ exchange, routingKey }: Route, content: Buffer, options: Options.Publish): void {
    if (this.#unsentBytes + content.length > MAX_PENDING_BYTES) return;
    this.#hasPublished = true;
    whereOpen(() => this.#transient.current?.publish(exchange, routingKey, content, options));
  }

  /** Declares the queues of events again, on a channel of its own. Calls meanwhile wait for the same. */
  declareAgain(): Promise<void> {
    this.#declaring ??= this.#declareOnce().finally(() => {
      this.#declaring = undefined;
    });
    return this.#declaring;
  }

  async closeChannels(): Promise<void> {
    clearInterval(this.#probe);
    await Promise.allSettled(this.#channels.map((channel) => channel.close()));
  }

  async close(timeoutMs: number): Promise<void> {
    await withTimeout(Promise.allSettled([this.#connection.close()]), timeoutMs);
    // A blocking broker does not read the close frame, and the open connection would keep the process alive.
    this.#socket?.destroy();
  }

  async #declareOnce(): Promise<void> {
    const channel = await this.#connection.connection?.createChannel();
    if (channel === undefined) return;
    channel.on('error', () => undefined);
    await this.declare(channel);
    await channel.close();
  }

  #problemOf(bytes: number): string | undefined {
    if (this.#blockedFor !== undefined) return `RabbitMQ accepts no messages: ${this.#blockedFor}`;
    if (this.#pending >= MAX_PENDING) return 'too many messages wait for a reply or a confirm';
    return this.pendingBytes + bytes > MAX_PENDING_BYTES ? 'too many bytes wait for the message broker' : undefined;
  }

  #unblock(): void {
    if (this.#blockedFor === undefined) return;
    this.#blockedFor = undefined;
    this.#recoveredAt = performance.now();
  }

  /** The probe waits until all channels are open, because none can be opened on a blocked connection. */
  #publishProbe(): void {
    const isIdle = !this.#hasPublished && this.#blockedFor === undefined && this.isOpen();
    this.#hasPublished = false;
    if (isIdle) this.send({ exchange: '', routingKey: 'gatepost.probe' }, Buffer.alloc(0), {});
  }

  #replyToReturned({ properties: { replyTo, correlationId } }: Message): void {
    const content = Buffer.from(failForwarded('no such service runs'));
    this.send({ exchange: '', routingKey: String(replyTo) }, content, { correlationId: String(correlationId) });
  }
}
