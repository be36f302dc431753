import { Logger } from '@nestjs/common';
import { type AmqpConnectionManager, type ChannelWrapper, connect } from 'amqp-connection-manager';
import type { Channel } from 'amqplib';
import { appError } from '#errors';
import type { Metrics } from '#observability';
import type { BroadcastListener, EventMessage, Transport } from '../transport.js';
import { reportErrors } from './channel-errors.js';
import { RabbitServer } from './rabbit.server.js';
import { RpcChannel } from './rpc-channel.js';
import { settledWithin } from './settled-within.js';
import { Topology } from './topology.js';

const HEARTBEAT_SECONDS = 10;
const RECONNECT_SECONDS = 1;
const PUBLISH_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;

export interface RabbitTransportOptions {
  readonly url: string;
  readonly namespace: string;
  /** Shown in RabbitMQ's list of connections. */
  readonly connectionName: string;
  readonly metrics?: Metrics;
  /** See `RETRY_DELAYS_MS`. */
  readonly retryDelaysMs?: readonly number[];
}

/** Carries messages over RabbitMQ. It connects in the background and reconnects by itself. */
export class RabbitTransport implements Transport {
  readonly #connection: AmqpConnectionManager;
  readonly #topology: Topology;
  readonly #rpc: RpcChannel;
  readonly #rpcChannel: ChannelWrapper;
  readonly #eventChannel: ChannelWrapper;
  readonly #broadcastChannel: ChannelWrapper;
  readonly #listeners = new Map<string, BroadcastListener[]>();
  readonly #metrics: Metrics | undefined;

  constructor(options: RabbitTransportOptions) {
    this.#metrics = options.metrics;
    this.#topology = new Topology(options.namespace, options.retryDelaysMs);
    this.#connection = openConnection(options);
    this.#rpc = new RpcChannel(this.#topology);
    this.#rpcChannel = this.#connection.createChannel({ setup: (channel: Channel) => this.#rpc.open(channel) });
    this.#eventChannel = this.#connection.createChannel({
      confirm: true,
      publishTimeout: PUBLISH_TIMEOUT_MS,
      setup: (channel: Channel) => this.#topology.declareEventExchange(channel),
    });
    this.#broadcastChannel = this.#connection.createChannel({ setup: (channel: Channel) => this.#listen(channel) });
    for (const channel of [this.#rpcChannel, this.#eventChannel, this.#broadcastChannel]) reportErrors(channel);
  }

  request(pattern: string, body: string, timeoutMs: number): Promise<string> {
    return this.#rpc.request(pattern, body, timeoutMs);
  }

  async publishEvent({ id, pattern, body }: EventMessage): Promise<void> {
    if (!this.isConnected())
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('not connected to the message broker') });
    await this.#eventChannel.publish(this.#topology.eventExchange, pattern, Buffer.from(body), {
      persistent: true,
      messageId: id,
      type: pattern,
    });
  }

  broadcast(pattern: string, body: string): void {
    if (!this.isConnected()) return;
    this.#broadcastChannel
      .publish(this.#topology.broadcastExchange, pattern, Buffer.from(body), { type: pattern })
      .catch(() => undefined);
  }

  onBroadcast(pattern: string, listener: BroadcastListener): void {
    this.#listeners.set(pattern, [...(this.#listeners.get(pattern) ?? []), listener]);
  }

  isConnected(): boolean {
    return this.#connection.isConnected() && this.#rpc.isOpen();
  }

  createServer(service: string): RabbitServer {
    return new RabbitServer(this.#connection, this.#topology, service, this.#metrics?.rpcHandled);
  }

  async close(): Promise<void> {
    // A broker that goes away at the same moment never confirms a close: waiting for it has an end.
    const channels = [this.#rpcChannel, this.#eventChannel, this.#broadcastChannel];
    await settledWithin(
      channels.map((channel) => channel.close()),
      CLOSE_TIMEOUT_MS,
    );
    await settledWithin([this.#connection.close()], CLOSE_TIMEOUT_MS);
  }

  async #listen(channel: Channel): Promise<void> {
    await this.#topology.declareBroadcastExchange(channel);
    const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
    await channel.bindQueue(queue, this.#topology.broadcastExchange, '#');
    await channel.consume(
      queue,
      (message) => {
        if (message !== null) this.#hear(String(message.properties.type), message.content.toString());
      },
      { noAck: true },
    );
  }

  #hear(pattern: string, body: string): void {
    for (const listener of this.#listeners.get(pattern) ?? []) listener(body);
  }
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
  connection.on('connect', () => {
    logger.log('connected');
  });
  return connection;
}
