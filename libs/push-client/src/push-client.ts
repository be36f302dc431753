import { DeviceMemory, Inbox, memoryStore, Registration } from './device.js';
import { errorOf, RefusedRequest, Router } from './http.js';
import type {
  BackOffOptions,
  ConnectionState,
  DeviceStore,
  Fetch,
  PushClientOptions,
  RegistrationOptions,
  WebSocketConstructor,
} from './push-client.types.js';
import { loginFrame, PROTOCOL, Session, type SessionEnd } from './session.js';

const BASE_MS = 1_000;
const MAX_MS = 120_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Setback {
  /** Failed attempts in a row, this one included; 0 after a stable connection. */
  readonly failures: number;
  readonly retryAfterMs?: number | undefined;
  /** The server will reject further attempts until its configuration changes: for example, the application is unknown. */
  readonly isRefused: boolean;
}

class Pause {
  #end: (() => void) | undefined;

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.#end?.();
  }
}

/** How often a client that stays connected looks whether its registration is due. */
const RENEWAL_MS = 3_600_000;
const STABLE_MS = 30_000;
/** Number of ids in a login: their acknowledgements may have been lost with the last connection. */
const MAX_LOGIN_IDS = 100;
const SESSION_CONFLICT = 4111;
/** Application unknown, login invalid, origin not allowed: see the table of close codes in the README. */
const REFUSALS = [4100, 4103, 4110];

/** Keeps a device connected and passes its pushes to the application, each once. */
export class PushClient {
  readonly #options: PushClientOptions;
  readonly #store: DeviceStore;
  readonly #registration: Registration | undefined;
  readonly #router: Router;
  readonly #WebSocket: WebSocketConstructor;
  readonly #pause = new Pause();
  #state: ConnectionState = 'stopped';
  #stopping: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #installationId: string | undefined;
  #memory: DeviceMemory | undefined;
  #inbox: Inbox | undefined;
  #session: Session | undefined;
  #failures = 0;

  /** @throws TypeError where an option is missing */
  constructor(options: PushClientOptions) {
    const { appId, url, registration } = options;
    const server = serverOf(options);
    const fetch: Fetch = options.fetch ?? ((address, request) => globalThis.fetch(address, request));
    this.#options = options;
    this.#store = options.store ?? memoryStore();
    this.#WebSocket = options.WebSocket ?? globalWebSocket();
    this.#registration = registration && new Registration({ ...registration, appId, server, fetch });
    this.#router = new Router({ appId, server, url, fetch, onError: this.#fail });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The device's name and secret, once the client has started. */
  get installationId(): string | undefined {
    return this.#installationId;
  }

  /** Connects, and stays connected until `stop`. A started client ignores the call. */
  start(): void {
    if (this.#stopping !== undefined) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#running = this.#running.then(() => this.#run(stopping.signal));
  }

  /** Ends the connection. Resolves once all received messages are handled and stored; in `onMessage` at once, as its handler is one of them. Later messages wait at the server. */
  async stop(): Promise<void> {
    // The handler that waits for this call would wait for itself.
    const isOfHandler = this.#inbox?.isCalling === true;
    const ended = this.#end();
    if (!isOfHandler) await ended;
  }

  /** Retries now instead of after the pause, and checks a connection: for applications that know when the device has a network again. */
  wake(): void {
    this.#pause.end();
    this.#session?.probe();
  }

  /** Changes fields of the installation, such as `channels`. They are saved now, or with the next successful registration. */
  async register(fields: RegistrationOptions['fields'] = {}): Promise<void> {
    if (this.#registration === undefined)
      throw new TypeError('the client has no option registration: set it, or save the installation in the application');
    this.#registration.change(fields);
    if (this.#installationId !== undefined)
      await this.#registration.ensure(this.#installationId, new AbortController().signal);
  }

  async #end(): Promise<void> {
    const session = this.#session;
    const running = this.#running;
    this.#stopping?.abort();
    this.#stopping = undefined;
    this.#pause.end();
    session?.ignoreMessages();
    await this.#inbox?.idle();
    session?.close();
    await running;
    // The client may have been started again meanwhile.
    if (this.#running === running) this.#setState('stopped');
  }

  async #run(signal: AbortSignal): Promise<void> {
    const isStopped = () => signal.aborted;
    while (!isStopped()) {
      this.#setState('connecting');
      const outcome = await this.#attempt(signal);
      // The application may have stopped the client in a callback.
      if (isStopped() || outcome === 'stopped') return;
      if (outcome === 'replaced') {
        this.#stopping = undefined;
        this.#setState('replaced');
        await this.#forget();
        return;
      }
      const pauseMs = pauseBefore(outcome, this.#options.backOff ?? {}, Math.random());
      this.#setState('waiting', pauseMs);
      if (!isStopped()) await this.#pause.wait(pauseMs);
    }
  }

  /** Another client writes the store from now on: the next start reads it. */
  async #forget(): Promise<void> {
    await this.#inbox?.idle();
    this.#inbox = undefined;
    this.#memory = undefined;
  }

  async #attempt(signal: AbortSignal): Promise<Setback | 'replaced' | 'stopped'> {
    let renewal: ReturnType<typeof setInterval> | undefined;
    try {
      signal.throwIfAborted();
      const memory = (this.#memory ??= await this.#loadMemory());
      const renewed = this.#renew(memory.installationId, signal);
      if (this.#registration?.isSaved !== true) await renewed;
      const url = await this.#router.next(memory.installationId, signal);
      signal.throwIfAborted();
      renewal = setInterval(() => void this.#renew(memory.installationId, signal), RENEWAL_MS);
      const end = await this.#connect(url, memory).ended;
      return signal.aborted ? 'stopped' : this.#setbackAfter(end);
    } catch (error) {
      return signal.aborted ? 'stopped' : this.#setbackOf(error);
    } finally {
      clearInterval(renewal);
      this.#session = undefined;
    }
  }

  /** Saves the installation where that is due. One that was saved before receives pushes even where this fails. */
  async #renew(installationId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#registration?.ensure(installationId, signal);
    } catch (error) {
      if (this.#registration?.isSaved !== true) throw error;
      if (!signal.aborted) this.#fail(errorOf(error));
    }
  }

  async #loadMemory(): Promise<DeviceMemory> {
    const memory = await DeviceMemory.load(this.#store, this.#options.installationId, this.#fail);
    this.#installationId = memory.installationId;
    return memory;
  }

  #connect(url: string, memory: DeviceMemory): Session {
    const { appId, onMessage, onGap } = this.#options;
    const inbox = (this.#inbox ??= new Inbox({ memory, onMessage, onError: this.#fail }));
    this.#session = new Session(new this.#WebSocket(url, [PROTOCOL]), {
      login: loginFrame(appId, memory.installationId, memory.latest(MAX_LOGIN_IDS)),
      onLoggedIn: ({ serverTime }) => {
        if (serverTime !== undefined) inbox.setClock(serverTime);
        this.#router.worked();
        this.#setState('connected');
      },
      onMessages: ({ messages }, acknowledge) => inbox.receive(messages, acknowledge),
      onGap: (dropped) => {
        this.#call('onGap', () => onGap?.({ dropped }));
      },
      onError: this.#fail,
    });
    return this.#session;
  }

  #setbackAfter({ code, reason, heldMs, retryAfterMs }: SessionEnd): Setback | 'replaced' {
    if (code === SESSION_CONFLICT) return 'replaced';
    this.#failures = heldMs !== undefined && heldMs >= STABLE_MS ? 0 : this.#failures + 1;
    if (heldMs === undefined) this.#router.failed();
    const isRefused = REFUSALS.includes(code);
    if (isRefused) this.#fail(new Error(`the server rejects this device: ${code} ${reason}`));
    return { failures: this.#failures, retryAfterMs, isRefused };
  }

  #setbackOf(error: unknown): Setback {
    this.#failures += 1;
    this.#fail(errorOf(error));
    const refusal = error instanceof RefusedRequest ? error : undefined;
    return {
      failures: this.#failures,
      retryAfterMs: refusal?.retryAfterMs,
      isRefused: refusal?.isFinal ?? false,
    };
  }

  #setState(state: ConnectionState, retryInMs?: number): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#call('onState', () => this.#options.onState?.(retryInMs === undefined ? { state } : { state, retryInMs }));
  }

  /** Reports what a callback throws, which would otherwise end the client. */
  #call(name: string, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#fail(new Error(`${name} failed`, { cause: error }));
    }
  }

  readonly #fail = (error: Error): void => {
    try {
      this.#options.onError?.(error);
    } catch (thrown) {
      // The error is the application's: it stays visible and does not end the client.
      queueMicrotask(() => {
        throw thrown;
      });
    }
  };
}

/** The URL without a slash at its end; empty where the client needs no server. */
function serverOf({ appId, server, url, registration }: PushClientOptions): string {
  if (appId === '') throw new TypeError('appId is empty');
  if (!server && (!url || registration !== undefined))
    throw new TypeError('server is missing: the client needs it to find a connector and to register the installation');
  return server?.replace(/\/+$/, '') ?? '';
}

function globalWebSocket(): WebSocketConstructor {
  const { WebSocket } = globalThis as { WebSocket?: WebSocketConstructor };
  if (WebSocket === undefined) throw new TypeError('there is no global WebSocket: pass the one of the package ws');
  return WebSocket;
}

/** Milliseconds, with full jitter: devices that lose a server together reconnect at different times. @param random from 0 to 1 */
export function pauseBefore(setback: Setback, options: BackOffOptions, random: number): number {
  const { baseMs = BASE_MS, maxMs = MAX_MS } = options;
  if (setback.isRefused) return maxMs / 2 + (random * maxMs) / 2;
  const jitter = random * Math.min(maxMs, baseMs * 2 ** Math.min(setback.failures, 30));
  if (setback.retryAfterMs === undefined) return jitter;
  // The server has already spread these pauses over the devices.
  return Math.min(LONGEST_TIMER_MS, setback.retryAfterMs + (setback.failures === 0 ? 0 : jitter));
}
