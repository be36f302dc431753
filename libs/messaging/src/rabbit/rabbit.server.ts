import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import type { AmqpConnectionManager, ChannelWrapper } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel, ConsumeMessage } from 'amqplib';
import { appError } from '#errors';
import type { Metrics } from '#observability';
import { encodeError } from '../envelope.js';
import { answerRequest } from '../handlers.js';
import { reportErrors } from './channel-errors.js';
import { EventConsumer } from './event-consumer.js';
import { InFlight } from './in-flight.js';
import type { Topology } from './topology.js';

/** RPCs that one process works on at once; over it the caller is told to come back. */
const MAX_RPC_IN_FLIGHT = 2_000;
/** How long a closing service waits for work in hand, in milliseconds. */
const DRAIN_TIMEOUT_MS = 15_000;

/**
 * Receives a service's RPCs and events. RPCs are taken without acknowledgement (their caller has a deadline, so a lost
 * one is answered anyway) up to a bound; events are acknowledged when handled.
 */
export class RabbitServer extends Server implements CustomTransportStrategy {
  readonly #inFlight = new InFlight();
  #channel: ChannelWrapper | undefined;
  #consumerTags: string[] = [];
  #live: Channel | undefined;

  constructor(
    private readonly connection: AmqpConnectionManager,
    private readonly topology: Topology,
    private readonly service: string,
    private readonly outcomes?: Metrics['rpcHandled'],
  ) {
    super();
  }

  listen(callback: () => void): void {
    this.#channel = this.connection.createChannel({
      confirm: true,
      setup: (channel: ConfirmChannel) => this.#consume(channel),
    });
    reportErrors(this.#channel);
    // The broker may be away: the process serves its health meanwhile, and consumes as soon as it can.
    callback();
  }

  /** Stops to take work, finishes what is in hand, then leaves. */
  async close(): Promise<void> {
    const live = this.#live;
    if (live !== undefined) await Promise.all(this.#consumerTags.map((tag) => live.cancel(tag).catch(() => undefined)));
    await this.#inFlight.settled(DRAIN_TIMEOUT_MS);
    await this.#channel?.close();
  }

  on(): never {
    throw new Error('not supported: listen to the transport');
  }

  unwrap(): never {
    throw new Error('not supported: the connection belongs to the transport');
  }

  async #consume(channel: ConfirmChannel): Promise<void> {
    await this.topology.declareRpcQueue(channel, this.service);
    this.#live = channel;
    channel.once('close', () => {
      if (this.#live === channel) this.#live = undefined;
    });
    const rpc = await channel.consume(
      this.topology.rpcQueue(this.service),
      (message) => {
        this.#receive(channel, message);
      },
      { noAck: true },
    );
    this.#consumerTags = [rpc.consumerTag];
    const patterns = this.#eventPatterns();
    if (patterns.length === 0) return;
    const events = new EventConsumer(this.topology, this.service, (pattern) => this.#eventHandler(pattern));
    this.#consumerTags.push(await events.start(channel, patterns, this.#inFlight));
  }

  #receive(channel: Channel, message: ConsumeMessage | null): void {
    if (message === null) return;
    if (this.#inFlight.count >= MAX_RPC_IN_FLIGHT) {
      reply(channel, message, encodeError(appError('SERVICE_UNAVAILABLE')));
      return;
    }
    const answered = answerRequest(message.content.toString(), (pattern) => this.#rpcHandler(pattern), this.outcomes);
    this.#inFlight.add(
      answered.then((text) => {
        reply(channel, message, text);
      }),
    );
  }

  #rpcHandler(pattern: string): MessageHandler | null {
    const handler = this.getHandlerByPattern(pattern);
    return handler?.isEventHandler ? null : handler;
  }

  #eventHandler(pattern: string): MessageHandler | null {
    const handler = this.getHandlerByPattern(pattern);
    return handler?.isEventHandler ? handler : null;
  }

  #eventPatterns(): string[] {
    return [...this.messageHandlers].filter(([, handler]) => handler.isEventHandler).map(([pattern]) => pattern);
  }
}

/** Sends an answer. A channel that closed meanwhile takes none: its caller has been told already. */
function reply(channel: Channel, message: ConsumeMessage, text: string): void {
  try {
    channel.sendToQueue(String(message.properties.replyTo), Buffer.from(text), {
      correlationId: String(message.properties.correlationId),
    });
  } catch {
    // IllegalOperationError: the channel is gone, and the caller's own channel with it or its deadline passed.
  }
}
