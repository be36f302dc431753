import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ChannelModel, ConsumeMessage, Options } from 'amqplib';
import type { EventContract } from '#contracts';
import { AppError, appError, withTimeout } from '#errors';
import type { Metrics } from '#observability';
import {
  assertFits,
  type BroadcastListener,
  type EventMessage,
  type DirectMessage,
  type NodeReceiver,
  originFrom,
  originHeaders,
  type Transport,
} from '../transport.js';
import { failureOf, openConnection, ReconnectingChannel, whereOpen } from './broker-connection.js';
import { Publisher, type Route, UnroutableError } from './publisher.js';
import { RabbitServer } from './rabbit.server.js';
import { RpcChannel } from './rpc-channel.js';
import { Topology } from './topology.js';

const CLOSE_TIMEOUT_MS = 2_000;

interface RabbitTransportOptions {
  readonly url: string;
  readonly namespace: string;
  readonly connectionName: string;
  readonly metrics?: Metrics;
  readonly publishes?: readonly EventContract[];
  readonly retryDelaysMs?: readonly number[];
}

/** Transports messages over two connections, which reconnect by themselves: one publishes, one consumes and acknowledges. */
export class RabbitTransport implements Transport {
  readonly #consuming: AmqpConnectionManager;
  readonly #publisher: Publisher;
  readonly #topology: Topology;
  readonly #rpc: RpcChannel;
  readonly #broadcastChannel: ReconnectingChannel<Channel>;
  readonly #servers: RabbitServer[] = [];
  readonly #inboxes: NodeMailbox[] = [];
  readonly #listeners = new Map<string, BroadcastListener[]>();
  readonly #metrics: Metrics | undefined;
  /** Patterns of the published events that a service receives. */
  readonly #awaited: ReadonlySet<string>;

  constructor({ url, namespace, connectionName, metrics, publishes = [], retryDelaysMs }: RabbitTransportOptions) {
    this.#metrics = metrics;
    this.#awaited = new Set(
      publishes.filter(({ subscribers }) => subscribers.length > 0).map(({ pattern }) => pattern),
    );
    this.#topology = new Topology(namespace, retryDelaysMs);
    this.#consuming = openConnection(url, `${connectionName} consumes`);
    this.#publisher = new Publisher(url, `${connectionName} publishes`, async (channel) => {
      await this.#topology.declareForPublishing(channel, publishes);
      await this.#topology.declareNodeExchange(channel);
      await this.#topology.declareBroadcastExchange(channel);
    });
    this.#rpc = new RpcChannel(this.#publisher, this.#topology, metrics?.rpcCalls);
    this.#broadcastChannel = ReconnectingChannel.plain(this.#consuming, (channel, lose) => this.#listen(channel, lose));
    if (metrics !== undefined) this.#registerMetrics(metrics, subscribersOf(publishes));
  }

  request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    return this.#rpc.request(pattern, body, timeoutMs);
  }

  async publishEvent({ id, pattern, body, ...origin }: EventMessage): Promise<void> {
    const route = { exchange: this.#topology.eventExchange, routingKey: pattern };
    const headers = originHeaders(origin);
    // The broker would confirm and drop an event whose queue or binding is gone.
    const mandatory = this.#awaited.has(pattern);
    const options = { persistent: true, mandatory, messageId: id, type: pattern, headers };
    try {
      await this.#publish(route, body, options);
    } catch (error) {
      if (error instanceof UnroutableError) await this.#publisher.declareAgain();
      throw error;
    }
  }

  broadcast(pattern: string, body: string): void {
    const route = { exchange: this.#topology.broadcastExchange, routingKey: pattern };
    this.#publisher.send(route, Buffer.from(body), { type: pattern });
  }

  onBroadcast(pattern: string, listener: BroadcastListener): void {
    this.#listeners.set(pattern, [...(this.#listeners.get(pattern) ?? []), listener]);
  }

  async sendToNode(node: string, { pattern, body, ...origin }: DirectMessage): Promise<void> {
    const route = { exchange: this.#topology.nodeExchange, routingKey: node };
    try {
      await this.#publish(route, body, { type: pattern, headers: originHeaders(origin) });
    } catch (error) {
      throw error instanceof AppError ? error : appError('SERVICE_UNAVAILABLE', { cause: error });
    }
  }

  receiveAsNode(node: string, receiver: NodeReceiver): void {
    this.#inboxes.push(new NodeMailbox(this.#consuming, this.#publisher, this.#topology, node, receiver));
  }

  isConnected(): boolean {
    return (
      this.#publisher.isOpen() &&
      this.#servers.every((server) => server.isServing()) &&
      this.#inboxes.every((inbox) => inbox.isReceiving())
    );
  }

  problem(): string | undefined {
    const { blockedFor } = this.#publisher;
    if (blockedFor !== undefined) return `RabbitMQ accepts no messages: ${blockedFor}`;
    return this.isConnected() ? undefined : (failureOf(this.#consuming) ?? 'not connected');
  }

  createServer(service: string): RabbitServer {
    const server = new RabbitServer(this.#consuming, this.#publisher, this.#topology, service, this.#metrics);
    this.#servers.push(server);
    return server;
  }

  async close(): Promise<void> {
    // The wait has a timeout: a broker that stops at the same moment, or blocks the connection, never confirms a close.
    const channels = [this.#broadcastChannel, ...this.#inboxes].map((channel) => channel.close());
    await withTimeout(Promise.allSettled([...channels, this.#publisher.closeChannels()]), CLOSE_TIMEOUT_MS);
    await Promise.all([
      withTimeout(Promise.allSettled([this.#consuming.close()]), CLOSE_TIMEOUT_MS),
      this.#publisher.close(CLOSE_TIMEOUT_MS),
    ]);
  }

  async #publish(route: Route, body: string, options: Options.Publish): Promise<void> {
    const content = Buffer.from(body);
    assertFits(content);
    await this.#publisher.publish(route, content, options);
  }

  #registerMetrics(metrics: Metrics, subscribers: readonly string[]): void {
    metrics.sample({
      gauges: [metrics.brokerConnected, metrics.brokerBlocked, metrics.brokerPending],
      read: () => {
        metrics.brokerConnected.set(this.isConnected() ? 1 : 0);
        metrics.brokerBlocked.set(this.#publisher.blockedFor === undefined ? 0 : 1);
        metrics.brokerPending.set(this.#publisher.pendingBytes);
      },
    });
    metrics.sample({
      gauges: [metrics.brokerQueue],
      read: async () => {
        const depths = await this.#depths(subscribers);
        metrics.brokerQueue.reset();
        for (const [queue, depth] of depths) metrics.brokerQueue.set({ queue: this.#topology.shortName(queue) }, depth);
      },
    });
  }

  async #depths(subscribers: readonly string[]): Promise<Map<string, number>> {
    const { connection } = this.#consuming;
    if (connection === undefined) throw new Error('not connected to the message broker');
    const published = subscribers.flatMap((service) => this.#topology.queuesOfEvents(service));
    const received = this.#servers.flatMap((server) => server.queues());
    return queueDepths(connection, [...new Set([...published, ...received])]);
  }

  async #listen(channel: Channel, lose: () => void): Promise<void> {
    await this.#topology.declareBroadcastExchange(channel);
    const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
    await channel.bindQueue(queue, this.#topology.broadcastExchange, '#');
    await channel.consume(
      queue,
      (message) => {
        if (message === null) lose();
        else this.#hear(String(message.properties.type), message.content.toString());
      },
      { noAck: true },
    );
  }

  #hear(pattern: string, body: string): void {
    for (const listener of this.#listeners.get(pattern) ?? []) listener(body);
  }
}

function subscribersOf(published: readonly EventContract[]): string[] {
  return [...new Set(published.flatMap(({ subscribers }) => subscribers))];
}

/** Leaves out a missing queue and the queues after it: the broker closes the channel at its check, which therefore has its own. */
async function queueDepths(
  connection: Pick<ChannelModel, 'createChannel'>,
  queues: readonly string[],
): Promise<Map<string, number>> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  const answers = await Promise.allSettled(queues.map((queue) => channel.checkQueue(queue)));
  channel.close().catch(() => undefined);
  return new Map(
    answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [[answer.value.queue, answer.value.messageCount]] : [],
    ),
  );
}

/** In progress at once: a connector handles those that wait together. */
const PREFETCH = 64;
const CHECK_MS = 2_000;
/** A process sends it to itself. Where an exchange was deleted, its bindings are gone: the broker returns this message, and drops others. */
const CHECK = 'check';

/** Receives the direct messages of this process, and acknowledges each after its handling, successful or not. */
class NodeMailbox {
  readonly #channel: ReconnectingChannel<Channel>;
  readonly #checks: NodeJS.Timeout;

  constructor(
    connection: AmqpConnectionManager,
    private readonly publisher: Publisher,
    private readonly topology: Topology,
    private readonly node: string,
    private readonly receiver: NodeReceiver,
  ) {
    this.#channel = ReconnectingChannel.plain(connection, (channel, lose) => this.#consume(channel, lose));
    this.#checks = setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  isReceiving(): boolean {
    return this.#channel.current !== undefined;
  }

  close(): Promise<void> {
    clearInterval(this.#checks);
    return this.#channel.close();
  }

  async #check(): Promise<void> {
    const channel = this.#channel.current;
    if (channel === undefined) return;
    const route = { exchange: this.topology.nodeExchange, routingKey: this.node };
    const options = { mandatory: true, messageId: this.node, type: CHECK };
    await this.publisher.publish(route, Buffer.alloc(0), options).catch((error: unknown) => {
      if (error instanceof UnroutableError) this.#channel.replace(channel, error);
    });
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
      const pattern = String(message.properties.type);
      const { traceparent } = originFrom(message.properties.headers);
      const body = message.content.toString();
      if (pattern !== CHECK) await this.receiver.receive({ pattern, body, traceparent });
    } finally {
      // Where the channel has closed, the broker has deleted the queue.
      whereOpen(() => {
        channel.ack(message);
      });
    }
  }
}
