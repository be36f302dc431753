import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConsumeMessage, Message } from 'amqplib';
import { withTimeout } from '#errors';
import type { Metrics } from '#observability';
import { answerRequest, refuseRequest } from '../handlers.js';
import type { Forwarded, NodeReceiver } from '../transport.js';
import { ConsumingChannel, ReconnectingChannel } from './broker-connection.js';
import { EventConsumer } from './event-consumer.js';
import { InFlight, type Publisher } from './publisher.js';
import { expiringAfter, hasCallerGivenUp } from './rpc-channel.js';
import { originFrom, type Topology } from './topology.js';

/** Maximum number of RPCs in progress per process; further ones get SERVICE_UNAVAILABLE. */
const MAX_RPC_IN_FLIGHT = 2_000;
/** How long a closing service waits for work in progress, in milliseconds. */
const DRAIN_TIMEOUT_MS = 15_000;
/** How long a closing service waits for the broker to cancel a consumer or close a channel, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

interface Connections {
  /** The connection for consuming and acknowledging. The broker never blocks it, because the process publishes nothing on it. */
  readonly consuming: AmqpConnectionManager;
  readonly publisher: Publisher;
}

/**
 * Receives a service's RPCs and events. RPCs are consumed without acknowledgement, up to a limit: their caller has a deadline, so a lost
 * one ends there. Events are acknowledged when handled.
 */
export class RabbitServer extends Server implements CustomTransportStrategy {
  readonly #inFlight = new InFlight();
  readonly #closing = new AbortController();
  #channels: ConsumingChannel[] = [];

  constructor(
    private readonly connections: Connections,
    private readonly topology: Topology,
    private readonly service: string,
    private readonly metrics?: Pick<Metrics, 'rpcHandled' | 'eventsHandled'>,
  ) {
    super();
  }

  listen(callback: () => void): void {
    const consume = (work: ConstructorParameters<typeof ConsumingChannel>[1]) => {
      this.#channels.push(new ConsumingChannel(this.connections.consuming, work));
    };
    consume((channel, lose) => this.#consumeRpc(channel, lose));
    const patterns = this.#eventPatterns();
    if (patterns.length > 0) consume((channel, lose) => this.#consumeEvents(channel, lose, patterns));
    // The broker may be unavailable: the process meanwhile serves its health endpoints, and consumes once it is connected.
    callback();
  }

  /** The queues of the service, with the queues of its retries and dead letters. */
  queues(): string[] {
    const events = this.#eventPatterns().length > 0 ? this.topology.queuesOfEvents(this.service) : [];
    return [...events, this.topology.rpcQueue(this.service)];
  }

  /** False where the service should receive messages and does not. */
  isServing(): boolean {
    return this.#channels.every((channel) => channel.isConsuming());
  }

  /** Stops receiving, finishes work in progress, then closes. */
  async close(): Promise<void> {
    const channels = this.#channels;
    this.#channels = [];
    this.#closing.abort();
    await withTimeout(Promise.allSettled(channels.map((channel) => channel.stopConsuming())), CLOSE_TIMEOUT_MS);
    await this.#inFlight.settled(DRAIN_TIMEOUT_MS);
    await withTimeout(Promise.allSettled(channels.map((channel) => channel.close())), CLOSE_TIMEOUT_MS);
  }

  on(): never {
    throw new Error('not supported: listen to the transport');
  }

  unwrap(): never {
    throw new Error('not supported: the connection belongs to the transport');
  }

  async #consumeRpc(channel: Channel, lose: () => void): Promise<string> {
    await this.topology.declareRpcQueue(channel, this.service);
    const receive = (message: ConsumeMessage | null) => {
      if (message === null) lose();
      else this.#receive(message);
    };
    const { consumerTag } = await channel.consume(this.topology.rpcQueue(this.service), receive, { noAck: true });
    return consumerTag;
  }

  #consumeEvents(channel: Channel, lose: () => void, patterns: readonly string[]): Promise<string> {
    const find = (pattern: string) => this.#handler(pattern, 'event');
    const { publisher } = this.connections;
    const consumer = new EventConsumer(publisher, this.topology, this.service, find, this.metrics?.eventsHandled);
    const follow = (work: Promise<void>) => {
      this.#inFlight.add(work);
    };
    return consumer.start(channel, patterns, { follow, lose, closing: this.#closing.signal });
  }

  #receive(message: ConsumeMessage): void {
    const refusal = this.#refusalOf(message);
    if (refusal !== undefined) {
      this.#reply(message, refuseRequest(refusal, this.metrics?.rpcHandled));
      return;
    }
    const receivedAt = performance.now();
    const answered = answerRequest(
      message.content.toString(),
      (pattern) => this.#handler(pattern, 'rpc'),
      this.metrics?.rpcHandled,
    );
    this.#inFlight.add(
      answered.then((answer) => {
        if (typeof answer === 'string') this.#reply(message, answer);
        else this.#forward(message, answer, performance.now() - receivedAt);
      }),
    );
  }

  /** The reason to refuse a request: its effect would take place, and no reply could reach the caller in time. */
  #refusalOf({ properties }: ConsumeMessage): string | undefined {
    const { publisher } = this.connections;
    if (this.#inFlight.count >= MAX_RPC_IN_FLIGHT) return 'too many requests in progress';
    if (publisher.blockedFor !== undefined) return 'RabbitMQ accepts no replies';
    return publisher.isRecovering && hasCallerGivenUp(properties) ? "the caller's deadline has passed" : undefined;
  }

  #reply(message: Message, text: string): void {
    const { replyTo, correlationId } = addressOf(message);
    this.connections.publisher.send({ exchange: '', routingKey: replyTo }, Buffer.from(text), { correlationId });
  }

  /**
   * Keeps `replyTo` of the original caller, who gets the reply from the next service directly. The request expires after the rest of its
   * deadline.
   */
  #forward(message: ConsumeMessage, { pattern, body }: Forwarded, elapsedMs: number): void {
    const [service = ''] = pattern.split('.', 1);
    const leftMs = Math.floor(Number(message.properties.expiration) - elapsedMs);
    if (leftMs <= 0) return;
    const route = { exchange: '', routingKey: this.topology.rpcQueue(service) };
    const options = { ...addressOf(message), ...expiringAfter(leftMs), mandatory: true };
    this.connections.publisher.send(route, Buffer.from(body), options);
  }

  #eventPatterns(): string[] {
    return [...this.messageHandlers.keys()].filter((pattern) => this.#handler(pattern, 'event') !== null);
  }

  #handler(pattern: string, kind: 'rpc' | 'event'): MessageHandler | null {
    const handler = this.messageHandlers.get(pattern);
    return handler?.isEventHandler === (kind === 'event') ? handler : null;
  }
}

/** The reply queue of the caller, and the id of the request. */
function addressOf({ properties }: Message): { replyTo: string; correlationId: string } {
  return { replyTo: String(properties.replyTo), correlationId: String(properties.correlationId) };
}

/** Maximum number of unacknowledged messages; the broker queues further ones, up to the limit of the queue. */
const PREFETCH = 16;

/** Receives the direct messages of this process. Each message is acknowledged after its handling, successful or not. */
export class NodeMailbox {
  readonly #channel: ReconnectingChannel<Channel>;

  constructor(
    connection: AmqpConnectionManager,
    private readonly topology: Topology,
    private readonly node: string,
    private readonly receiver: NodeReceiver,
  ) {
    this.#channel = ReconnectingChannel.plain(connection, (channel, lose) => this.#consume(channel, lose));
  }

  isReceiving(): boolean {
    return this.#channel.current !== undefined;
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  async #consume(channel: Channel, lose: () => void): Promise<void> {
    const queue = await this.topology.declareNodeQueue(channel, this.node);
    await channel.prefetch(PREFETCH);
    await channel.consume(queue, (message) => {
      if (message === null) lose();
      else void this.#receive(channel, message);
    });
    this.receiver.connected();
  }

  async #receive(channel: Channel, message: ConsumeMessage): Promise<void> {
    try {
      const { traceparent } = originFrom(message.properties.headers);
      await this.receiver.receive({
        pattern: String(message.properties.type),
        body: message.content.toString(),
        traceparent,
      });
    } finally {
      acknowledge(channel, message);
    }
  }
}

function acknowledge(channel: Channel, message: ConsumeMessage): void {
  try {
    channel.ack(message);
  } catch {
    // IllegalOperationError: the channel is closed, and its queue deleted.
  }
}
