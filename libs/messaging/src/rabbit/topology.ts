import type { Channel } from 'amqplib';
import type { EventContract } from '#contracts';

/** The broker deletes a queue of RPCs or of a process that has no consumer for this time. */
const IDLE_MS = 60_000;
/** Deliveries of one event without acknowledgement (its consumer crashes) before it is dead-lettered. */
const EVENT_DELIVERY_LIMIT = 20;
const NODE_QUEUE_MESSAGES = 1_000;
const NODE_QUEUE_BYTES = 64 * 1_024 * 1_024;
const QUORUM = { 'x-queue-type': 'quorum' };
/** Delays before the 2nd, 3rd, … attempt to handle an event. */
const RETRY_DELAYS_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000];

/** RPC: a classic queue per service. Events: quorum, waiting and dead-letter queues. Broadcasts, direct messages: an exclusive queue per process. */
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

  queuesOfWaitingEvents(service: string): string[] {
    return [this.eventQueue(service), ...this.retryDelaysMs.map((_, index) => this.retryQueue(service, index + 1))];
  }

  queuesOfEvents(service: string): string[] {
    return [...this.queuesOfWaitingEvents(service), this.deadLetterQueue(service)];
  }

  shortName(queue: string): string {
    return queue.slice(this.namespace.length + 1);
  }

  async declareRpcQueue(channel: Channel, service: string): Promise<void> {
    await channel.assertQueue(this.rpcQueue(service), {
      durable: true,
      expires: IDLE_MS,
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

  /** @returns the queue; the broker names it, because a connection that it still considers open would lock a fixed name */
  async declareNodeQueue(channel: Channel, node: string): Promise<string> {
    await this.declareNodeExchange(channel);
    const { queue } = await channel.assertQueue('', {
      exclusive: true,
      // A channel that is lost while its connection stays open leaves no queue behind.
      autoDelete: true,
      expires: IDLE_MS,
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

  async declareForPublishing(channel: Channel, published: readonly EventContract[]): Promise<void> {
    await this.declareEventExchange(channel);
    for (const service of new Set(published.flatMap(({ subscribers }) => subscribers))) {
      const patterns = published.filter((event) => event.subscribers.includes(service)).map(({ pattern }) => pattern);
      await this.declareEventQueues(channel, service, patterns);
    }
  }

  async declareEventQueues(channel: Channel, service: string, patterns: readonly string[]): Promise<void> {
    await this.declareEventExchange(channel);
    await channel.assertQueue(this.deadLetterQueue(service), { durable: true, arguments: QUORUM });
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

/** For dead letters that move to another queue at least once, even over a restart of the broker. */
function movedSafelyTo(queue: string): Record<string, string> {
  return {
    ...QUORUM,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
}
