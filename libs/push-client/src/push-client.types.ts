import type { DeviceStore } from './device-memory.js';

/** One push, as the application gets it. */
export interface PushMessage {
  /** The same at every delivery. */
  readonly id: string;
  /** The body of the push: what stood in `data`, or the part of it for this device's platform. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970; undefined: the message says nothing about it. */
  readonly expiresAt: number | undefined;
}

/**
 * `waiting`: for the next attempt. `replaced`: the same installation has connected elsewhere, and this client keeps still until
 * `start` is called again.
 */
export type ConnectionState = 'stopped' | 'connecting' | 'connected' | 'waiting' | 'replaced';

export interface StateChange {
  readonly state: ConnectionState;
  /** Milliseconds until the next attempt, where the state is `waiting`. */
  readonly retryInMs?: number;
}

/** The queue of the device was full, and the server dropped the oldest messages. */
export interface Gap {
  readonly dropped: number;
}

export interface RegistrationOptions {
  readonly appKey: string;
  /** Fields of the installation, such as `deviceType` (`web` where absent) and `channels`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface BackOffOptions {
  /** Upper bound of the first pause, in milliseconds; it doubles with every failure in a row. Default 1,000. */
  readonly baseMs?: number;
  /** Upper bound of every pause, in milliseconds. Default 120,000. */
  readonly maxMs?: number;
}

export interface PushClientOptions {
  readonly appId: string;
  /** The URL that the REST API has, such as `https://push.example.com`; needed for the registration and where `url` is absent. */
  readonly server?: string;
  /** A connector's own URL (`wss://…`): the server is not asked for one then. */
  readonly url?: string;
  /** The name and the secret of this device. Absent: one is made at the first start and kept in the store. */
  readonly installationId?: string;
  /** Where the device's name and the ids of messages are kept that it has seen. Default: in memory, for this process. */
  readonly store?: DeviceStore;
  /** Registers the installation before it connects, and again once a day. Absent: the application does so itself. */
  readonly registration?: RegistrationOptions;
  /**
   * Gets each message once, in order; the next one waits for the promise. The message is acknowledged afterwards, also where
   * this fails: who cannot handle a message now keeps it.
   */
  readonly onMessage: (message: PushMessage) => void | Promise<void>;
  readonly onState?: (change: StateChange) => void;
  readonly onGap?: (gap: Gap) => void;
  /** What went wrong; the client goes on by itself. */
  readonly onError?: (error: Error) => void;
  /** Default: the global one. Node 20 has none: pass the one of the package `ws`. */
  readonly WebSocket?: WebSocketConstructor;
  /** Default: the global one. */
  readonly fetch?: Fetch;
  readonly backOff?: BackOffOptions;
}

/** What the client needs of a socket: the one of browsers and of Node 22, and the one of the package `ws`. */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { code: number; reason: string }) => void): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** What the client needs of `fetch`. */
export type Fetch = (
  url: string,
  request: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  json(): Promise<unknown>;
}>;
