import type { Channel, ConsumeMessage, Message, MessageProperties, Options } from 'amqplib';
import { appError } from '#errors';
import type { Metrics } from '#observability';
import { assertFits, type RpcTransport } from '../transport.js';
import type { Publisher } from './publisher.js';
import type { Topology } from './topology.js';

/** RabbitMQ's pseudo queue: replies arrive on the channel of the request, without a queue of their own. */
const DIRECT_REPLY_TO = 'amq.rabbitmq.reply-to';
/** Replies that the broker accepted before it started to block still arrive. Pending requests wait this long for them. */
const LAST_REPLIES_MS = 500;

interface RpcRequest {
  readonly id: string;
  readonly pattern: string;
  readonly callee: string;
  readonly bytes: number;
  readonly timeoutMs: number;
}

interface PendingRequest {
  readonly request: RpcRequest;
  readonly sentAt: number;
  readonly resolve: (reply: string) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** The outcome of a request; an error of the service counts as `answered`. */
type Outcome = 'answered' | 'timed_out' | 'unavailable';

/**
 * Tolerated difference between the clocks of a deployment (the doctor warns of larger ones) plus the resolution of timestamps, which are in
 * whole seconds.
 */
const TOLERATED_MS = 3_000;

/** The message properties of a request with this timeout. */
export function expiringAfter(timeoutMs: number): Pick<Options.Publish, 'expiration' | 'timestamp'> {
  return { expiration: timeoutMs, timestamp: Math.floor(Date.now() / 1_000) };
}

/**
 * Whether the deadline of a request's caller has passed. The broker counts the expiration from the moment when it reads the message, and a
 * blocking broker reads nothing: only the sender's clock gives the time of the request.
 */
export function hasCallerGivenUp({ expiration, timestamp }: MessageProperties): boolean {
  return typeof timestamp === 'number' && Date.now() > timestamp * 1_000 + Number(expiration) + TOLERATED_MS;
}

const unavailable = (reason: string) => appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });

/**
 * The client side of RPC, on one channel of the publisher. Every request has a deadline, and its message expires with it, so that no
 * service works for a caller that has given up. A lost channel fails all pending requests at once; so does a broker that accepts no
 * messages, because services cannot publish their replies either.
 */
export class RpcChannel implements RpcTransport {
  readonly #pending = new Map<string, PendingRequest>();
  #channel: Channel | undefined;
  #lastId = 0;

  constructor(
    private readonly publisher: Publisher,
    private readonly topology: Topology,
    private readonly durations?: Metrics['rpcCalls'],
  ) {
    publisher.openChannel((channel, lose) => this.#open(channel, lose));
    publisher.onBlocked(() => {
      setTimeout(() => {
        if (publisher.blockedFor !== undefined) this.#failAll(`RabbitMQ accepts no messages: ${publisher.blockedFor}`);
      }, LAST_REPLIES_MS).unref();
    });
  }

  /** @throws AppError OBJECT_TOO_LARGE where the message is so large that the broker would close the channel */
  async request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    const content = Buffer.from(body);
    assertFits(content);
    const [callee = ''] = pattern.split('.', 1);
    const channel = this.#readyFor(callee, content.length);
    const id = String(++this.#lastId);
    const reply = this.#awaitReply({ id, pattern, callee, bytes: content.length, timeoutMs });
    this.#send(channel, callee, content, { correlationId: id, ...expiringAfter(timeoutMs) });
    return reply;
  }

  async #open(channel: Channel, lose: () => void): Promise<void> {
    channel.on('return', (message: Message) => {
      this.#fail(String(message.properties.correlationId), 'no such service runs');
    });
    channel.on('close', () => {
      this.#lose(channel);
    });
    const receive = (message: ConsumeMessage | null) => {
      if (message === null) lose();
      else this.#settle(message);
    };
    await channel.consume(DIRECT_REPLY_TO, receive, { noAck: true });
    this.#channel = channel;
  }

  /** @throws AppError SERVICE_UNAVAILABLE where no request can be sent now */
  #readyFor(callee: string, bytes: number): Channel {
    try {
      if (this.#channel === undefined) throw unavailable('not connected to the message broker');
      this.publisher.reserve(bytes);
      return this.#channel;
    } catch (error) {
      this.#count(callee, 'unavailable', performance.now());
      throw error;
    }
  }

  /** A separate method, so that its closures do not retain the message while the reply is pending. */
  #awaitReply(request: RpcRequest): Promise<string> {
    const { id, pattern, timeoutMs } = request;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#take(id, 'timed_out');
        reject(unavailable(`${pattern} gave no answer in ${timeoutMs} ms`));
      }, timeoutMs);
      this.#pending.set(id, { request, sentAt: performance.now(), resolve, reject, timer });
    });
  }

  #count(callee: string, outcome: Outcome, sentAt: number): void {
    this.durations?.observe({ callee, outcome }, (performance.now() - sentAt) / 1_000);
  }

  #send(
    channel: Channel,
    service: string,
    content: Buffer,
    options: Options.Publish & { correlationId: string },
  ): void {
    try {
      channel.publish('', this.topology.rpcQueue(service), content, {
        ...options,
        replyTo: DIRECT_REPLY_TO,
        mandatory: true,
      });
    } catch {
      // IllegalOperationError: the channel has just closed.
      this.#fail(options.correlationId, 'the connection to the message broker was lost');
    }
  }

  #settle(message: ConsumeMessage): void {
    this.#take(String(message.properties.correlationId), 'answered')?.resolve(message.content.toString());
  }

  #fail(id: string, reason: string): void {
    this.#take(id, 'unavailable')?.reject(unavailable(reason));
  }

  #failAll(reason: string): void {
    for (const id of [...this.#pending.keys()]) this.#fail(id, reason);
  }

  #take(id: string, outcome: Outcome): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.publisher.release(pending.request.bytes);
    this.#count(pending.request.callee, outcome, pending.sentAt);
    return pending;
  }

  #lose(channel: Channel): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    this.#failAll('the connection to the message broker was lost');
  }
}
