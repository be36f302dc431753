import type { Cluster, Redis as Client, RedisOptions } from 'ioredis';

const CONNECT_TIMEOUT_MS = 2_000;
/** Callers answer within a second, whether Redis refuses, is silent or is not there. */
export const COMMAND_TIMEOUT_MS = 800;
/** How long a connection that is given up may take to close. */
const DISCONNECT_TIMEOUT_MS = 500;
const FIRST_RETRY_MS = 50;
export const LONGEST_RETRY_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

/** What every connection to a server of Redis has in common. */
export const CONNECTION_OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  commandTimeout: COMMAND_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
} satisfies RedisOptions;

/** @returns how long to wait before the next attempt to connect, in milliseconds */
export const retryDelay = (attempt: number): number => Math.min(FIRST_RETRY_MS * attempt, LONGEST_RETRY_MS);

/** What a connection reports. */
export interface ConnectionEvents {
  /** It serves, all of it. */
  connected(): void;
  /** It does not serve any more, or a part of it. */
  lost(): void;
  /** The latest error, which is the reason where the connection is lost. */
  failed(reason: string): void;
}

/** A connection to one server, or to all nodes of a cluster. It connects in the background, again and again. */
export interface Connection {
  /** Takes commands, and sends each to the server of its keys. A command fails at once where that is not connected. */
  readonly commands: Client | Cluster;
  readonly isReady: boolean;
  /** Counts connections, so that a command knows whether its own is still the one in use. */
  readonly generation: number;
  /** The servers that take writes, as far as they are known now. */
  masters(): readonly Client[];
  /** The same and their replicas. */
  servers(): readonly Client[];
  /** @throws Error where a key could not be written now */
  ping(): Promise<void>;
  /** Replaces the connection of that generation, on which an answer did not come in time. */
  giveUp(generation: number): void;
  close(): void;
}
