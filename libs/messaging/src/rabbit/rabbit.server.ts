import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel, ConsumeMessage, Message, Options } from 'amqplib';
import type { Metrics } from '#observability';
import type { Forwarded } from '../forwarded.js';
import { answerRequest, failForwarded, refuseRequest } from '../handlers.js';
import { ConsumingChannel } from './consuming-channel.js';
import { EventConsumer } from './event-consumer.js';
import { InFlight } from './in-flight.js';
import { LastingChannel } from './lasting-channel.js';
import { settledWithin } from './settled-within.js';
import type { Topology } from './topology.js';

/** RPCs that one process works on at once; over it the caller is told to come back. */
const MAX_RPC_IN_FLIGHT = 2_000;
/** How long a closing service waits for work in hand, in milliseconds. */
const DRAIN_TIMEOUT_MS = 15_000;
/** How long it waits for the broker's word on a cancelled consumer or a closed channel. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Receives a service's RPCs and events. RPCs are taken without acknowledgement (their caller has a deadline, so a lost
 * one is answered anyway) up to a bound; events are acknowledged when handled.
 */
export class RabbitServer extends Server implements CustomTransportStrategy {
  readonly #inFlight = new InFlight();
  #channels: Pick<ConsumingChannel<Channel>, 'isConsuming' | 'stopConsuming' | 'close'>[] = [];

  constructor(
    private readonly connection: AmqpConnectionManager,
    private readonly topology: Topology,
    private readonly service: string,
    private readonly metrics?: Pick<Metrics, 'rpcHandled' | 'eventsHandled'>,
  ) {
    super();
  }

  listen(callback: () => void): void {
    this.#channels.push(
      new ConsumingChannel<Channel>(
        (setup) => LastingChannel.plain(this.connection, setup),
        (channel, lose) => this.#consumeRpc(channel, lose),
      ),
    );
    const patterns = this.#eventPatterns();
    if (patterns.length > 0) {
      this.#channels.push(
        new ConsumingChannel<ConfirmChannel>(
          (setup) => LastingChannel.confirming(this.connection, setup),
          (channel, lose) => this.#consumeEvents(channel, lose, patterns),
        ),
      );
    }
    // The broker may be away: the process serves its health meanwhile, and consumes as soon as it can.
    callback();
  }

  /** The queues that it receives from, and those where its events wait for another attempt or for an operator. */
  queues(): string[] {
    const events = this.#eventPatterns().length > 0 ? this.topology.queuesOfEvents(this.service) : [];
    return [...events, this.topology.rpcQueue(this.service)];
  }

  /** False where the service should receive and does not. */
  isServing(): boolean {
    return this.#channels.every((channel) => channel.isConsuming());
  }

  /** Stops to take work, finishes what is in hand, then leaves. */
  async close(): Promise<void> {
    const channels = this.#channels;
    this.#channels = [];
    await settledWithin(
      channels.map((channel) => channel.stopConsuming()),
      CLOSE_TIMEOUT_MS,
    );
    await this.#inFlight.settled(DRAIN_TIMEOUT_MS);
    await settledWithin(
      channels.map((channel) => channel.close()),
      CLOSE_TIMEOUT_MS,
    );
  }

  on(): never {
    throw new Error('not supported: listen to the transport');
  }

  unwrap(): never {
    throw new Error('not supported: the connection belongs to the transport');
  }

  async #consumeRpc(channel: Channel, lose: () => void): Promise<string> {
    await this.topology.declareRpcQueue(channel, this.service);
    channel.on('return', (message: Message) => {
      reply(channel, message, failForwarded('no such service runs'));
    });
    const receive = (message: ConsumeMessage | null) => {
      if (message === null) lose();
      else this.#receive(channel, message);
    };
    const { consumerTag } = await channel.consume(this.topology.rpcQueue(this.service), receive, { noAck: true });
    return consumerTag;
  }

  #consumeEvents(channel: ConfirmChannel, lose: () => void, patterns: readonly string[]): Promise<string> {
    const find = (pattern: string) => this.#handler(pattern, 'event');
    const consumer = new EventConsumer(this.topology, this.service, find, this.metrics?.eventsHandled);
    const follow = (work: Promise<void>) => {
      this.#inFlight.add(work);
    };
    return consumer.start(channel, patterns, { follow, lose });
  }

  #receive(channel: Channel, message: ConsumeMessage): void {
    if (this.#inFlight.count >= MAX_RPC_IN_FLIGHT) {
      reply(channel, message, refuseRequest(this.metrics?.rpcHandled));
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
        if (typeof answer === 'string') reply(channel, message, answer);
        else this.#forward(channel, message, answer, performance.now() - receivedAt);
      }),
    );
  }

  /** The broker knows by `replyTo` who asked first, whoever answers. What is left of its deadline goes along. */
  #forward(channel: Channel, message: ConsumeMessage, { pattern, body }: Forwarded, elapsedMs: number): void {
    const [service = ''] = pattern.split('.', 1);
    const expiration = Math.floor(Number(message.properties.expiration) - elapsedMs);
    if (expiration <= 0) return;
    send(channel, this.topology.rpcQueue(service), body, { ...addressOf(message), expiration, mandatory: true });
  }

  #eventPatterns(): string[] {
    return [...this.messageHandlers.keys()].filter((pattern) => this.#handler(pattern, 'event') !== null);
  }

  #handler(pattern: string, kind: 'rpc' | 'event'): MessageHandler | null {
    const handler = this.messageHandlers.get(pattern);
    return handler?.isEventHandler === (kind === 'event') ? handler : null;
  }
}

function reply(channel: Channel, message: Message, text: string): void {
  const { replyTo, correlationId } = addressOf(message);
  send(channel, replyTo, text, { correlationId });
}

/** Who asked, and which of its questions. */
function addressOf({ properties }: Message): { replyTo: string; correlationId: string } {
  return { replyTo: String(properties.replyTo), correlationId: String(properties.correlationId) };
}

/** A channel that closed meanwhile takes nothing: the caller's own went with it, or its deadline tells it. */
function send(channel: Channel, queue: string, text: string, options: Options.Publish): void {
  try {
    channel.sendToQueue(queue, Buffer.from(text), options);
  } catch {
    // IllegalOperationError: the channel is gone.
  }
}
