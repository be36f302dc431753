import { Redis as Client, type RedisOptions } from 'ioredis';
import type { RedisServers } from '#config';
import {
  COMMAND_TIMEOUT_MS,
  type Connection,
  CONNECTION_OPTIONS,
  type ConnectionEvents,
  retryDelay,
} from './connection.js';

type SingleServer = Exclude<RedisServers, { kind: 'cluster' }>;

/** The connection to one server: the one that the URL names, or the master that Sentinels name each time it connects. */
export class SingleConnection implements Connection {
  readonly commands: Client;
  #generation = 0;

  constructor(
    server: SingleServer,
    connectionName: string,
    private readonly events: ConnectionEvents,
  ) {
    const options: RedisOptions = {
      ...CONNECTION_OPTIONS,
      connectionName,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: retryDelay,
      // After a failover the old master only reads: the address, or the Sentinels, may lead to the new one by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    };
    this.commands =
      server.kind === 'server'
        ? new Client(server.url, options)
        : new Client({ ...options, ...sentinelOptions(server) });
    this.commands.on('ready', () => {
      this.#generation += 1;
      events.connected();
    });
    this.commands.on('error', (error: Error) => {
      events.failed(error.message);
    });
    this.commands.on('close', () => {
      events.lost();
    });
  }

  get isReady(): boolean {
    return this.commands.status === 'ready';
  }

  get generation(): number {
    return this.#generation;
  }

  masters(): readonly Client[] {
    return [this.commands];
  }

  servers(): readonly Client[] {
    return this.masters();
  }

  async ping(): Promise<void> {
    await this.commands.ping();
  }

  giveUp(generation: number): void {
    if (generation !== this.#generation) return;
    this.#generation += 1;
    this.events.failed('no answer');
    this.commands.disconnect(true);
  }

  close(): void {
    this.commands.disconnect();
  }
}

function sentinelOptions(server: Extract<SingleServer, { kind: 'sentinel' }>): RedisOptions {
  const { username: sentinelUsername, password: sentinelPassword } = server.sentinelLogin;
  return {
    ...server.login,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(server.isEncrypted ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    sentinels: [...server.sentinels],
    name: server.masterName,
    db: server.database,
    // The Sentinels' word ends the connection to a master that they have replaced, though it still answers.
    failoverDetector: true,
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelay,
    sentinelReconnectStrategy: retryDelay,
  };
}
