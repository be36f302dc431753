import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConsumeMessage, Message } from 'amqplib';
import { withTimeout } from '#errors';
import type { Metrics } from '#observability';
import { answerRequest, refuseRequest } from '../handlers.js';
import type { Forwarded } from '../transport.js';
import { ConsumingChannel } from './broker-connection.js';
import { EventConsumer } from './event-consumer.js';
import { expiringAfter, hasCallerGivenUp, InFlight, type Publisher } from './publisher.js';
import type { Topology } from './topology.js';

const MAX_RPC_IN_FLIGHT = 2_000;
const DRAIN_TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 2_000;

/** Receives a service's RPCs and events. RPCs are not acknowledged: their caller has a deadline. Events are, when handled. */
export class RabbitServer extends Server implements CustomTransportStrategy {
  readonly #inFlight = new InFlight();
  readonly #closing = new AbortController();
  #channels: ConsumingChannel[] = [];

  constructor(
    /** The broker never blocks it, because the process publishes nothing on it. */
    private readonly consuming: AmqpConnectionManager,
    private readonly publisher: Publisher,
    private readonly topology: Topology,
    private readonly service: string,
    private readonly metrics?: Pick<Metrics, 'rpcHandled' | 'eventsHandled'>,
  ) {
    super();
  }

  listen(callback: () => void): void {
    const consume = (work: ConstructorParameters<typeof ConsumingChannel>[1]) => {
      this.#channels.push(new ConsumingChannel(this.consuming, work));
    };
    consume((channel, lose) => this.#consumeRpc(channel, lose));
    const patterns = this.#eventPatterns();
    if (patterns.length > 0) consume((channel, lose) => this.#consumeEvents(channel, lose, patterns));
    // The process also starts where the broker is unavailable, and consumes once it is connected.
    callback();
  }

  queues(): string[] {
    const events = this.#eventPatterns().length > 0 ? this.topology.queuesOfEvents(this.service) : [];
    return [...events, this.topology.rpcQueue(this.service)];
  }

  isServing(): boolean {
    return this.#channels.every((channel) => channel.isConsuming());
  }

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
    return (await channel.consume(this.topology.rpcQueue(this.service), receive, { noAck: true })).consumerTag;
  }

  #consumeEvents(channel: Channel, lose: () => void, patterns: readonly string[]): Promise<string> {
    const find = (pattern: string) => this.#handler(pattern, 'event');
    const consumer = new EventConsumer(this.publisher, this.topology, this.service, find, this.metrics?.eventsHandled);
    return consumer.start(channel, patterns, { inFlight: this.#inFlight, lose, closing: this.#closing.signal });
  }

  #receive(message: ConsumeMessage): void {
    const refusal = this.#refusalOf(message);
    if (refusal !== undefined) {
      this.#reply(message, refuseRequest(refusal, this.metrics?.rpcHandled));
      return;
    }
    const receivedAt = performance.now();
    const find = (pattern: string) => this.#handler(pattern, 'rpc');
    const answered = answerRequest(message.content.toString(), find, this.metrics?.rpcHandled);
    this.#inFlight.add(
      answered.then((answer) => {
        if (typeof answer === 'string') this.#reply(message, answer);
        else this.#forward(message, answer, performance.now() - receivedAt);
      }),
    );
  }

  /** The reason to refuse a request: its effect would take place, and no reply could reach the caller in time. */
  #refusalOf({ properties }: ConsumeMessage): string | undefined {
    if (this.#inFlight.count >= MAX_RPC_IN_FLIGHT) return 'too many requests in progress';
    if (this.publisher.blockedFor !== undefined) return 'RabbitMQ accepts no replies';
    return this.publisher.isRecovering && hasCallerGivenUp(properties) ? "the caller's deadline has passed" : undefined;
  }

  #reply(message: Message, text: string): void {
    const { replyTo, correlationId } = addressOf(message);
    this.publisher.send({ exchange: '', routingKey: replyTo }, Buffer.from(text), { correlationId });
  }

  #forward(message: ConsumeMessage, { pattern, body }: Forwarded, elapsedMs: number): void {
    const [service = ''] = pattern.split('.', 1);
    const leftMs = Math.floor(Number(message.properties.expiration) - elapsedMs);
    if (leftMs <= 0) return;
    const options = { ...addressOf(message), ...expiringAfter(leftMs), mandatory: true };
    this.publisher.send({ exchange: '', routingKey: this.topology.rpcQueue(service) }, Buffer.from(body), options);
  }

  #eventPatterns(): string[] {
    return [...this.messageHandlers.keys()].filter((pattern) => this.#handler(pattern, 'event') !== null);
  }

  #handler(pattern: string, kind: 'rpc' | 'event'): MessageHandler | null {
    const handler = this.messageHandlers.get(pattern);
    return handler?.isEventHandler === (kind === 'event') ? handler : null;
  }
}

function addressOf({ properties }: Message): { replyTo: string; correlationId: string } {
  return { replyTo: String(properties.replyTo), correlationId: String(properties.correlationId) };
}
