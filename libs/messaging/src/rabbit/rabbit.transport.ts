import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { type AmqpConnectionManager, connect } from 'amqp-connection-manager';
import type { Channel, ConfirmChannel, Options } from 'amqplib';
import type { EventContract } from '#contracts';
import { AppError, appError } from '#errors';
import type { Metrics } from '#observability';
import type { BroadcastListener, EventMessage, NodeMessage, NodeReceiver, Transport } from '../transport.js';
import { assertFits } from '../message-size.js';
import { coalesceWrites } from './coalesced-writes.js';
import { confirmedPublish, type Route } from './confirmed-publish.js';
import { LastingChannel } from './lasting-channel.js';
import { NodeInbox } from './node-inbox.js';
import { originHeaders } from './origin-headers.js';
import { queueDepths } from './queue-depths.js';
import { RabbitServer } from './rabbit.server.js';
import { RpcChannel } from './rpc-channel.js';
import { settledWithin } from './settled-within.js';
import { Topology } from './topology.js';

const HEARTBEAT_SECONDS = 10;
const RECONNECT_SECONDS = 1;
const CLOSE_TIMEOUT_MS = 2_000;

export interface RabbitTransportOptions {
  readonly url: string;
  readonly namespace: string;
  /** Shown in RabbitMQ's list of connections. */
  readonly connectionName: string;
  readonly metrics?: Metrics;
  /** The events that this process publishes; none unless given. */
  readonly publishes?: readonly EventContract[];
  /** See `RETRY_DELAYS_MS`. */
  readonly retryDelaysMs?: readonly number[];
}

/** Carries messages over RabbitMQ. It connects in the background and reconnects by itself. */
export class RabbitTransport implements Transport {
  readonly #connection: AmqpConnectionManager;
  readonly #topology: Topology;
  readonly #rpc: RpcChannel;
  readonly #rpcChannel: LastingChannel<Channel>;
  readonly #publishChannel: LastingChannel<ConfirmChannel>;
  readonly #broadcastChannel: LastingChannel<Channel>;
  readonly #servers: RabbitServer[] = [];
  readonly #inboxes: NodeInbox[] = [];
  readonly #listeners = new Map<string, BroadcastListener[]>();
  readonly #metrics: Metrics | undefined;

  constructor(options: RabbitTransportOptions) {
    this.#metrics = options.metrics;
    this.#topology = new Topology(options.namespace, options.retryDelaysMs);
    this.#connection = openConnection(options);
    this.#rpc = new RpcChannel(this.#topology, options.metrics?.rpcCalls);
    this.#rpcChannel = LastingChannel.plain(this.#connection, (channel, lose) => this.#rpc.open(channel, lose));
    this.#publishChannel = LastingChannel.confirming(this.#connection, async (channel) => {
      await this.#topology.declareForPublishing(channel, options.publishes ?? []);
      await this.#topology.declareNodeExchange(channel);
    });
    this.#broadcastChannel = LastingChannel.plain(this.#connection, (channel, lose) => this.#listen(channel, lose));
    if (options.metrics !== undefined) this.#tell(options.metrics, subscribersOf(options.publishes ?? []));
  }

  request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    return this.#rpc.request(pattern, body, timeoutMs);
  }

  async publishEvent({ id, pattern, body, ...origin }: EventMessage): Promise<void> {
    const route = { exchange: this.#topology.eventExchange, routingKey: pattern };
    const headers = originHeaders(origin);
    await this.#publish(route, body, { persistent: true, messageId: id, type: pattern, headers });
  }

  broadcast(pattern: string, body: string): void {
    try {
      this.#broadcastChannel.current?.publish(this.#topology.broadcastExchange, pattern, Buffer.from(body), {
        type: pattern,
      });
    } catch {
      // IllegalOperationError: the channel has just closed.
    }
  }

  onBroadcast(pattern: string, listener: BroadcastListener): void {
    this.#listeners.set(pattern, [...(this.#listeners.get(pattern) ?? []), listener]);
  }

  async sendToNode(node: string, { pattern, body, ...origin }: NodeMessage): Promise<void> {
    const route = { exchange: this.#topology.nodeExchange, routingKey: node };
    try {
      await this.#publish(route, body, { type: pattern, headers: originHeaders(origin) });
    } catch (error) {
      throw error instanceof AppError ? error : appError('SERVICE_UNAVAILABLE', { cause: error });
    }
  }

  receiveAsNode(node: string, receiver: NodeReceiver): void {
    this.#inboxes.push(new NodeInbox(this.#connection, this.#topology, node, receiver));
  }

  /** Whether everything works: asking, publishing, and what this process serves. */
  isConnected(): boolean {
    const channels = [this.#rpcChannel, this.#publishChannel];
    return (
      channels.every(({ current }) => current !== undefined) &&
      this.#servers.every((server) => server.isServing()) &&
      this.#inboxes.every((inbox) => inbox.isReceiving())
    );
  }

  createServer(service: string): RabbitServer {
    const server = new RabbitServer(this.#connection, this.#topology, service, this.#metrics);
    this.#servers.push(server);
    return server;
  }

  async close(): Promise<void> {
    // A broker that goes away at the same moment never confirms a close: waiting for it has an end.
    const channels = [this.#rpcChannel, this.#publishChannel, this.#broadcastChannel, ...this.#inboxes];
    await settledWithin(
      channels.map((channel) => channel.close()),
      CLOSE_TIMEOUT_MS,
    );
    await settledWithin([this.#connection.close()], CLOSE_TIMEOUT_MS);
  }

  async #publish(route: Route, body: string, options: Options.Publish): Promise<void> {
    assertFits(body);
    const channel = this.#publishChannel.current;
    if (channel === undefined)
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('not connected to the message broker') });
    await confirmedPublish(channel, route, Buffer.from(body), options);
  }

  #tell(metrics: Metrics, subscribers: readonly string[]): void {
    metrics.sample({
      gauges: [metrics.brokerConnected],
      read: () => {
        metrics.brokerConnected.set(this.isConnected() ? 1 : 0);
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

  /** @throws Error where the broker is away */
  async #depths(subscribers: readonly string[]): Promise<Map<string, number>> {
    const { connection } = this.#connection;
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

function openConnection({ url, connectionName }: RabbitTransportOptions): AmqpConnectionManager {
  const logger = new Logger('RabbitMQ');
  const connection = connect([url], {
    heartbeatIntervalInSeconds: HEARTBEAT_SECONDS,
    reconnectTimeInSeconds: RECONNECT_SECONDS,
    // Without noDelay a round trip waits 40 ms for Nagle's algorithm.
    connectionOptions: { noDelay: true, clientProperties: { connection_name: connectionName } },
  });
  connection.on('connectFailed', ({ err }) => {
    logger.warn(`cannot connect: ${err.message}`);
  });
  connection.on('disconnect', ({ err }) => {
    logger.warn(`disconnected: ${err.message}`);
  });
  connection.on('connect', ({ connection: opened }) => {
    coalesceWrites((opened as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream);
    logger.log('connected');
  });
  return connection;
}
