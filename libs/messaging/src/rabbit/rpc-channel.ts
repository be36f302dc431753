import type { Channel, ConsumeMessage, Message } from 'amqplib';
import { appError } from '#errors';
import type { Metrics } from '#observability';
import { assertFits, type RpcTransport } from '../transport.js';
import { whereOpen } from './broker-connection.js';
import { expiringAfter, type Publisher } from './publisher.js';
import type { Topology } from './topology.js';

/** RabbitMQ's pseudo queue: replies arrive on the channel of the request. */
const DIRECT_REPLY_TO = 'amq.rabbitmq.reply-to';
/** Replies that the broker accepted before a block still arrive. */
const LAST_REPLIES_MS = 500;
const CONNECTION_LOST = 'the connection to the message broker was lost';

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

type Outcome = 'answered' | 'timed_out' | 'unavailable';

const unavailable = (reason: string) => appError('SERVICE_UNAVAILABLE', { cause: new Error(reason) });

/** A message expires with its deadline. A lost channel fails all pending requests, and so does a broker that accepts no messages (ADR 27). */
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

  async request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    const content = Buffer.from(body);
    assertFits(content);
    const [callee = ''] = pattern.split('.', 1);
    const channel = this.#readyFor(callee, content.length);
    const request = { id: String(++this.#lastId), pattern, callee, bytes: content.length, timeoutMs };
    const reply = this.#awaitReply(request);
    this.#send(channel, request, content);
    return reply;
  }

  async #open(channel: Channel, lose: () => void): Promise<void> {
    channel.on('return', (message: Message) => {
      this.#fail(String(message.properties.correlationId), 'no such service runs');
    });
    channel.on('close', () => {
      if (this.#channel !== channel) return;
      this.#channel = undefined;
      this.#failAll(CONNECTION_LOST);
    });
    const receive = (message: ConsumeMessage | null) => {
      if (message === null) lose();
      else this.#take(String(message.properties.correlationId), 'answered')?.resolve(message.content.toString());
    };
    await channel.consume(DIRECT_REPLY_TO, receive, { noAck: true });
    this.#channel = channel;
  }

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

  #send(channel: Channel, { id, callee, timeoutMs }: RpcRequest, content: Buffer): void {
    const options = { correlationId: id, ...expiringAfter(timeoutMs), replyTo: DIRECT_REPLY_TO, mandatory: true };
    const isSent = whereOpen(() => channel.publish('', this.topology.rpcQueue(callee), content, options));
    if (!isSent) this.#fail(id, CONNECTION_LOST);
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
}
