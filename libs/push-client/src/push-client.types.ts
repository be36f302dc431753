/** One push, as the application receives it. */
export interface PushMessage {
  /** The same at every delivery. */
  readonly id: string;
  /** The body of the push: the content of `data`, or its part for this device's platform. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970; undefined where the message has no expiry. */
  readonly expiresAt: number | undefined;
}

/** `waiting`: for the next attempt. `replaced`: the installation has connected elsewhere, and this client stays disconnected until `start`. */
export type ConnectionState = 'stopped' | 'connecting' | 'connected' | 'waiting' | 'replaced';

export interface StateChange {
  readonly state: ConnectionState;
  /** Milliseconds until the next attempt, in the state `waiting`. */
  readonly retryInMs?: number;
}

/** The queue of the device was full, and the server dropped the oldest messages. */
export interface Gap {
  readonly dropped: number;
}

export interface RegistrationOptions {
  readonly appKey: string;
  /** Fields of the installation, such as `deviceType` (default: `web`) and `channels`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface BackOffOptions {
  /** Upper bound of the first pause, in milliseconds; it doubles with every failure in a row. Default: 1,000. */
  readonly baseMs?: number;
  /** Upper bound of every pause, in milliseconds. Default: 120,000. */
  readonly maxMs?: number;
}

/** The state that a device keeps between starts. */
export interface DeviceState {
  readonly installationId: string;
  /** Ids of the latest messages that the application has received, oldest first. The client bounds their number. */
  readonly seen: readonly string[];
}

/** Stores a device's state. The client calls one method at a time. */
export interface DeviceStore {
  /** @returns undefined where no readable state is stored */
  load(): DeviceState | undefined | Promise<DeviceState | undefined>;
  save(state: DeviceState): void | Promise<void>;
}

/** The part of `localStorage` that the client uses. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

export interface PushClientOptions {
  readonly appId: string;
  /** The URL of the REST API, such as `https://push.example.com`; required for the registration and where `url` is absent. */
  readonly server?: string;
  /** A connector's URL (`wss://…`), instead of those that the server returns. */
  readonly url?: string;
  /** The name and the secret of this device. Absent: the client generates one at the first start and stores it. */
  readonly installationId?: string;
  /** Stores the device's name and the ids of seen messages. Default: in memory, for this process. */
  readonly store?: DeviceStore;
  /** Saves the installation before the client connects, and again once a day. Absent: the application saves it. */
  readonly registration?: RegistrationOptions;
  /** Each message once, in order, after the promise of the one before. Acknowledged even where the handler fails: store what it cannot handle. */
  readonly onMessage: (message: PushMessage) => void | Promise<void>;
  readonly onState?: (change: StateChange) => void;
  readonly onGap?: (gap: Gap) => void;
  /** Reports an error; the client continues by itself. */
  readonly onError?: (error: Error) => void;
  /** Default: the global one. Node 20 has none: pass the one of the package `ws`. */
  readonly WebSocket?: WebSocketConstructor;
  /** Default: the global one. */
  readonly fetch?: Fetch;
  readonly backOff?: BackOffOptions;
}

/** The part of a socket that the client uses; the sockets of browsers, of Node 22 and of the package `ws` have it. */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { code: number; reason: string }) => void): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** The part of `fetch` that the client uses. */
export type Fetch = (
  url: string,
  request: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  json(): Promise<unknown>;
}>;
