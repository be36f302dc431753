import type { Channel, MessageProperties } from 'amqplib';
import type { EventContract } from '#contracts';
import type { MessageOrigin } from '../transport.js';

/** On a dead letter: what its last attempt failed with. */
export const REASON_HEADER = 'x-gatepost-reason';

/** A queue of a service that nobody reads is removed by the broker after this time. */
const RPC_QUEUE_IDLE_MS = 60_000;
/** Deliveries of one event without an answer (a consumer that dies on it) before it is dead-lettered. */
const EVENT_DELIVERY_LIMIT = 20;
/** What waits for one process at most: over it, senders are told to come back. */
const NODE_QUEUE_MESSAGES = 1_000;
const NODE_QUEUE_BYTES = 64 * 1_024 * 1_024;
const NODE_QUEUE_IDLE_MS = 60_000;
/** Waiting times before the 2nd, 3rd, … attempt to handle an event, in milliseconds. */
const RETRY_DELAYS_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];

/**
 * Every exchange and queue, by name. RPC: one classic queue per service, transient messages. Events: one topic
 * exchange; per service a quorum queue, a waiting queue per retry delay, and a queue for dead letters. Broadcasts: one
 * topic exchange, and an exclusive queue per process that the broker names. Messages for one process: one direct exchange, and
 * an exclusive queue of the process. Nothing here was removed in RabbitMQ 4.
 */
export class Topology {
  constructor(
    private readonly namespace: string,
    readonly retryDelaysMs: readonly number[] = RETRY_DELAYS_MS,
  ) {}

  get eventExchange(): string {
    return `${this.namespace}.events`;
  }

  get broadcastExchange(): string {
    return `${this.namespace}.broadcasts`;
  }

  get nodeExchange(): string {
    return `${this.namespace}.nodes`;
  }

  rpcQueue(service: string): string {
    return `${this.namespace}.rpc.${service}`;
  }

  eventQueue(service: string): string {
    return `${this.namespace}.events.${service}`;
  }

  retryQueue(service: string, attempt: number): string {
    return `${this.namespace}.events.${service}.retry-${attempt}`;
  }

  deadLetterQueue(service: string): string {
    return `${this.namespace}.events.${service}.dead`;
  }

  /** Those in which an event waits to be handled by the service, or to be tried again. */
  queuesOfWaitingEvents(service: string): string[] {
    return [this.eventQueue(service), ...this.retryDelaysMs.map((_, index) => this.retryQueue(service, index + 1))];
  }

  /** Every queue in which an event for the service can be, dead ones included. */
  queuesOfEvents(service: string): string[] {
    return [...this.queuesOfWaitingEvents(service), this.deadLetterQueue(service)];
  }

  /** A queue's name as every deployment calls it. */
  shortName(queue: string): string {
    return queue.slice(this.namespace.length + 1);
  }

  async declareRpcQueue(channel: Channel, service: string): Promise<void> {
    await channel.assertQueue(this.rpcQueue(service), {
      durable: true,
      expires: RPC_QUEUE_IDLE_MS,
      // A virtual host may have another default.
      arguments: { 'x-queue-type': 'classic' },
    });
  }

  async declareEventExchange(channel: Channel): Promise<void> {
    await channel.assertExchange(this.eventExchange, 'topic', { durable: true });
  }

  async declareBroadcastExchange(channel: Channel): Promise<void> {
    await channel.assertExchange(this.broadcastExchange, 'topic', { durable: true });
  }

  async declareNodeExchange(channel: Channel): Promise<void> {
    await channel.assertExchange(this.nodeExchange, 'direct', { durable: true });
  }

  /**
   * Declares the queue of what is sent to the process of that name. The broker names the queue: that of a connection which
   * the broker has not yet given up would lock the name. @returns the queue
   */
  async declareNodeQueue(channel: Channel, node: string): Promise<string> {
    await this.declareNodeExchange(channel);
    const { queue } = await channel.assertQueue('', {
      exclusive: true,
      // A channel that is lost while its connection lives leaves no queue behind.
      autoDelete: true,
      expires: NODE_QUEUE_IDLE_MS,
      arguments: {
        'x-queue-type': 'classic',
        'x-max-length': NODE_QUEUE_MESSAGES,
        'x-max-length-bytes': NODE_QUEUE_BYTES,
        'x-overflow': 'reject-publish',
      },
    });
    await channel.bindQueue(queue, this.nodeExchange, node);
    return queue;
  }

  /**
   * Declares the event exchange, and the queues of everyone who subscribes to the events: what is published before a
   * subscriber has ever run waits for it.
   */
  async declareForPublishing(channel: Channel, published: readonly EventContract[]): Promise<void> {
    await this.declareEventExchange(channel);
    for (const service of new Set(published.flatMap(({ subscribers }) => subscribers))) {
      const subscribed = published.filter(({ subscribers }) => subscribers.includes(service));
      const patterns = subscribed.map(({ pattern }) => pattern);
      await this.declareEventQueues(channel, service, patterns);
    }
  }

  /** Declares what a service needs to receive the events of the given patterns. */
  async declareEventQueues(channel: Channel, service: string, patterns: readonly string[]): Promise<void> {
    await this.declareEventExchange(channel);
    await channel.assertQueue(this.deadLetterQueue(service), {
      durable: true,
      arguments: { 'x-queue-type': 'quorum' },
    });
    await channel.assertQueue(this.eventQueue(service), {
      durable: true,
      arguments: { ...movedSafelyTo(this.deadLetterQueue(service)), 'x-delivery-limit': EVENT_DELIVERY_LIMIT },
    });
    for (const [index, delayMs] of this.retryDelaysMs.entries()) {
      await channel.assertQueue(this.retryQueue(service, index + 1), {
        durable: true,
        arguments: { ...movedSafelyTo(this.eventQueue(service)), 'x-message-ttl': delayMs },
      });
    }
    for (const pattern of patterns) await channel.bindQueue(this.eventQueue(service), this.eventExchange, pattern);
  }
}

/** A quorum queue whose dead letters go to another queue, at least once even over a broker restart. */
function movedSafelyTo(queue: string): Record<string, string> {
  return {
    'x-queue-type': 'quorum',
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
}

const TRACEPARENT = 'traceparent';
const REQUEST_ID = 'x-gatepost-request-id';

type Headers = MessageProperties['headers'];

/** Where a message comes from, beside the message: who does not know these headers passes them over. */
export function originHeaders({ requestId, traceparent }: MessageOrigin): Record<string, string> {
  return {
    ...(traceparent !== undefined && { [TRACEPARENT]: traceparent }),
    ...(requestId !== undefined && { [REQUEST_ID]: requestId }),
  };
}

export function originFrom(headers: Headers): MessageOrigin {
  return { traceparent: textOf(headers?.[TRACEPARENT]), requestId: textOf(headers?.[REQUEST_ID]) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
