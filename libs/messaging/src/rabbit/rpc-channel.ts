import type { Channel, ConsumeMessage, Message, Options } from 'amqplib';
import { appError } from '#errors';
import type { Metrics } from '#observability';
import { assertFits } from '../message-size.js';
import type { Topology } from './topology.js';

/** RabbitMQ's pseudo queue: replies come back on the channel that asked, without a queue of their own. */
const DIRECT_REPLY_TO = 'amq.rabbitmq.reply-to';
/** Questions under way from one process; over it new ones are refused at once. */
const MAX_PENDING = 10_000;

interface PendingRequest {
  readonly callee: string;
  readonly askedAt: number;
  readonly resolve: (reply: string) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** How a question ended; an error of the service is an answer too. */
type Outcome = 'answered' | 'timed_out' | 'unavailable';

const unavailable = (reason: string) => appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });

/**
 * The asking side of RPC over one channel. Every request has a deadline, and its message carries the same expiration, so
 * nobody works for a caller that left. A lost channel fails what is pending at once.
 */
export class RpcChannel {
  readonly #pending = new Map<string, PendingRequest>();
  #channel: Channel | undefined;
  #lastId = 0;

  constructor(
    private readonly topology: Topology,
    private readonly durations?: Metrics['rpcCalls'],
  ) {}

  /** Called with each new channel, the first and those after a loss; `lose` is for one that brings no replies any more. */
  async open(channel: Channel, lose: () => void): Promise<void> {
    channel.on('return', (message: Message) => {
      this.#fail(message, 'no such service runs');
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

  /** @throws AppError OBJECT_TOO_LARGE where the broker would close the channel on the message */
  async request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    assertFits(body);
    const [callee = ''] = pattern.split('.', 1);
    const channel = this.#readyFor(callee);
    const id = String(++this.#lastId);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#take(id, 'timed_out');
        reject(unavailable(`${pattern} gave no answer in ${timeoutMs} ms`));
      }, timeoutMs);
      this.#pending.set(id, { callee, askedAt: performance.now(), resolve, reject, timer });
      this.#send(channel, callee, body, { correlationId: id, expiration: timeoutMs });
    });
  }

  /** @throws AppError SERVICE_UNAVAILABLE where nothing can be asked now */
  #readyFor(callee: string): Channel {
    const isFull = this.#pending.size >= MAX_PENDING;
    if (this.#channel !== undefined && !isFull) return this.#channel;
    this.#count(callee, 'unavailable', performance.now());
    throw unavailable(isFull ? 'too many requests under way' : 'not connected to the message broker');
  }

  #count(callee: string, outcome: Outcome, askedAt: number): void {
    this.durations?.observe({ callee, outcome }, (performance.now() - askedAt) / 1_000);
  }

  #send(channel: Channel, service: string, body: string, options: Options.Publish & { correlationId: string }): void {
    try {
      channel.publish('', this.topology.rpcQueue(service), Buffer.from(body), {
        ...options,
        replyTo: DIRECT_REPLY_TO,
        mandatory: true,
      });
    } catch {
      // IllegalOperationError: the channel has just closed.
      this.#take(options.correlationId, 'unavailable')?.reject(
        unavailable('the connection to the message broker was lost'),
      );
    }
  }

  #settle(message: ConsumeMessage): void {
    this.#take(String(message.properties.correlationId), 'answered')?.resolve(message.content.toString());
  }

  #fail(message: Message, reason: string): void {
    this.#take(String(message.properties.correlationId), 'unavailable')?.reject(unavailable(reason));
  }

  #take(id: string, outcome: Outcome): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.#count(pending.callee, outcome, pending.askedAt);
    return pending;
  }

  #lose(channel: Channel): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    for (const id of [...this.#pending.keys()])
      this.#take(id, 'unavailable')?.reject(unavailable('the connection to the message broker was lost'));
  }
}
