import type { Channel, MessageProperties } from 'amqplib';
import type { EventContract } from '#contracts';
import type { MessageOrigin } from '../transport.js';

/** Header of a dead letter: the error of its last attempt. */
export const REASON_HEADER = 'x-gatepost-reason';

/** The broker deletes an RPC queue that has no consumer for this time. */
const RPC_QUEUE_IDLE_MS = 60_000;
/** Maximum number of deliveries of one event without acknowledgement (its consumer crashes) before it is dead-lettered. */
const EVENT_DELIVERY_LIMIT = 20;
/** Maximum number of messages that wait for one process; the broker refuses further ones. */
const NODE_QUEUE_MESSAGES = 1_000;
const NODE_QUEUE_BYTES = 64 * 1_024 * 1_024;
const NODE_QUEUE_IDLE_MS = 60_000;
/** Delays before the 2nd, 3rd, … attempt to handle an event, in milliseconds. */
const RETRY_DELAYS_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];

/**
 * All exchanges and queues, by name. RPC: one classic queue per service, with transient messages. Events: one topic exchange; per service a
 * quorum queue, one waiting queue per retry delay, and a queue for dead letters. Broadcasts: one topic exchange, and an exclusive queue per
 * process, named by the broker. Direct messages: one direct exchange, and an exclusive queue per process. All features used here exist in
 * RabbitMQ 4.
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

  /** The queues of events that wait for the service's first attempt or for a retry. */
  queuesOfWaitingEvents(service: string): string[] {
    return [this.eventQueue(service), ...this.retryDelaysMs.map((_, index) => this.retryQueue(service, index + 1))];
  }

  /** All queues that can contain events for the service, dead letters included. */
  queuesOfEvents(service: string): string[] {
    return [...this.queuesOfWaitingEvents(service), this.deadLetterQueue(service)];
  }

  /** The name of a queue without the namespace of the deployment. */
  shortName(queue: string): string {
    return queue.slice(this.namespace.length + 1);
  }

  async declareRpcQueue(channel: Channel, service: string): Promise<void> {
    await channel.assertQueue(this.rpcQueue(service), {
      durable: true,
      expires: RPC_QUEUE_IDLE_MS,
      // The default queue type of the virtual host may differ.
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
   * Declares the queue for direct messages to the named process. The broker generates the queue's name, because a connection that the
   * broker still considers open would lock a fixed name.
   * @returns the queue
   */
  async declareNodeQueue(channel: Channel, node: string): Promise<string> {
    await this.declareNodeExchange(channel);
    const { queue } = await channel.assertQueue('', {
      exclusive: true,
      // A channel that is lost while its connection stays open leaves no queue behind.
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
   * Declares the event exchange and the queues of all subscribers of the events, so that an event waits for a subscriber that has never
   * run.
   */
  async declareForPublishing(channel: Channel, published: readonly EventContract[]): Promise<void> {
    await this.declareEventExchange(channel);
    for (const service of new Set(published.flatMap(({ subscribers }) => subscribers))) {
      const subscribed = published.filter(({ subscribers }) => subscribers.includes(service));
      const patterns = subscribed.map(({ pattern }) => pattern);
      await this.declareEventQueues(channel, service, patterns);
    }
  }

  /** Declares the exchange, the queues and the bindings that a service needs for the events of the given patterns. */
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

/** Arguments of a quorum queue whose dead letters move to another queue at least once, even over a restart of the broker. */
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

/** The origin of a message as headers; receivers that do not know them ignore them. */
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
