import { RefusedRequest, requestJson, unlessAborted } from './http.js';
import type {
  DeviceState,
  DeviceStore,
  Fetch,
  KeyValueStorage,
  PushMessage,
  RegistrationOptions,
} from './push-client.types.js';

/** Keeps the state while the process runs. */
export function memoryStore(): DeviceStore {
  let kept: DeviceState | undefined;
  return {
    load: () => kept,
    save: (state) => {
      kept = state;
    },
  };
}

/** Keeps the state in a browser's `localStorage`, or in a similar object. `key`: a different one for each application of an origin. */
export function webStorageStore(storage: KeyValueStorage, key = 'gatepost-push'): DeviceStore {
  return {
    load: () => parseDeviceState(storage.getItem(key)),
    save: (state) => {
      storage.setItem(key, JSON.stringify(state));
    },
  };
}

export function parseDeviceState(text: string | null): DeviceState | undefined {
  if (text === null) return undefined;
  try {
    const state = JSON.parse(text) as Partial<DeviceState> | null;
    if (typeof state?.installationId !== 'string' || !Array.isArray(state.seen)) return undefined;
    return { installationId: state.installationId, seen: state.seen.filter((id) => typeof id === 'string') };
  } catch {
    return undefined;
  }
}

/** More ids than the server queues for one device, so that the client recognises every repeated message. */
const MAX_SEEN = 500;
const ID_BYTES = 16;

export class DeviceMemory {
  readonly #store: DeviceStore;
  readonly #onError: (error: Error) => void;
  readonly #seen: Set<string>;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  private constructor(
    store: DeviceStore,
    readonly installationId: string,
    seen: readonly string[],
    onError: (error: Error) => void,
  ) {
    this.#store = store;
    this.#seen = new Set(seen);
    this.#onError = onError;
  }

  /** @param installationId where it differs from the stored one, the state starts without seen messages */
  static async load(
    store: DeviceStore,
    installationId: string | undefined,
    onError: (error: Error) => void,
  ): Promise<DeviceMemory> {
    const kept = await store.load();
    const isKept = kept !== undefined && (installationId === undefined || installationId === kept.installationId);
    if (isKept) return new DeviceMemory(store, kept.installationId, kept.seen, onError);
    const memory = new DeviceMemory(store, installationId ?? newInstallationId(), [], onError);
    await memory.save();
    return memory;
  }

  has(id: string): boolean {
    return this.#seen.has(id);
  }

  add(id: string): void {
    this.#seen.add(id);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= MAX_SEEN) return;
      this.#seen.delete(oldest);
    }
  }

  latest(count: number): string[] {
    return [...this.#seen].slice(-count);
  }

  /** Calls during a write share the next one. A store that fails is reported: the device recognises repeated messages until its next start. */
  save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (this.#writing === undefined) return this.#write();
    this.#next = this.#writing.then(() => {
      this.#next = undefined;
      return this.#write();
    });
    return this.#next;
  }

  #write(): Promise<void> {
    const state: DeviceState = { installationId: this.installationId, seen: [...this.#seen] };
    this.#writing = this.#tryToSave(state).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #tryToSave(state: DeviceState): Promise<void> {
    try {
      await this.#store.save(state);
    } catch (error) {
      this.#onError(new Error('the state of the device could not be saved', { cause: error }));
    }
  }
}

/** Random, because any client that knows it receives the device's messages. Works on pages without TLS, too. */
function newInstallationId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Many times what a server sends without an acknowledgement. */
const MAX_WAITING = 1_000;

interface InboxOptions {
  readonly memory: DeviceMemory;
  readonly onMessage: (message: PushMessage) => void | Promise<void>;
  readonly onError: (error: Error) => void;
}

/** One at a time, each id once, expired ones never. It outlives connections: a first copy may still be handled when the second arrives. */
export class Inbox {
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  /** The server's time at the origin of `performance.now()`, which no correction of the device's clock changes. */
  #serverOrigin: number | undefined;
  #isCalling = false;

  constructor(private readonly options: InboxOptions) {}

  /** Whether a handler is running, until its first `await`. */
  get isCalling(): boolean {
    return this.#isCalling;
  }

  /** Makes messages expire by the server's clock: the device's may be wrong by hours. */
  setClock(serverTime: number): void {
    this.#serverOrigin = serverTime - performance.now();
  }

  /** @returns false where more messages wait than a server that follows the protocol would send */
  receive(messages: readonly PushMessage[], acknowledge: (id: string) => void): boolean {
    if (this.#waiting + messages.length > MAX_WAITING) return false;
    this.#waiting += messages.length;
    for (const message of messages)
      this.#last = this.#last.then(async () => {
        await this.#hand(message);
        this.#waiting -= 1;
        void this.#settle(message.id, acknowledge);
      });
    return true;
  }

  /** Resolves once all messages received so far are handled. */
  async idle(): Promise<void> {
    await this.#last;
    await this.options.memory.save();
  }

  async #hand(message: PushMessage): Promise<void> {
    const { memory, onMessage, onError } = this.options;
    const now = this.#serverOrigin === undefined ? Date.now() : this.#serverOrigin + performance.now();
    const isExpired = message.expiresAt !== undefined && message.expiresAt <= now;
    if (isExpired || memory.has(message.id)) return;
    try {
      await this.#call(onMessage, message);
    } catch (error) {
      onError(new Error(`message ${message.id} could not be handled`, { cause: error }));
    }
    memory.add(message.id);
  }

  #call(onMessage: InboxOptions['onMessage'], message: PushMessage): void | Promise<void> {
    this.#isCalling = true;
    try {
      return onMessage(message);
    } finally {
      this.#isCalling = false;
    }
  }

  /** The id is stored before the acknowledgement, so that no message is handled twice. */
  async #settle(id: string, acknowledge: (id: string) => void): Promise<void> {
    await this.options.memory.save();
    acknowledge(id);
  }
}

/** Pushes reach installations that were saved within the last 90 days. */
const RENEW_AFTER_MS = 24 * 3_600_000;
/** The server never accepts a change that it answers with one of these. */
const FINAL_STATUSES: readonly number[] = [400, 403, 409, 413, 415, 422];

type Fields = Readonly<Record<string, unknown>>;

export class Registration {
  #fields: Fields;
  /** Not saved yet, oldest first. */
  #changes: readonly Fields[] = [];
  #last: Promise<void> = Promise.resolve();
  #savedAt: number | undefined;
  isSaved = false;

  constructor(private readonly options: RegistrationOptions & { appId: string; server: string; fetch: Fetch }) {
    this.#fields = options.fields ?? {};
  }

  change(fields: Fields): void {
    const replaced = new Set(Object.keys(withoutOperations(fields)));
    const others = this.#changes.filter((change) => !Object.keys(change).every((name) => replaced.has(name)));
    this.#changes = [...others, fields];
  }

  /** Saves the installation where the last save is a day old, then the changes until now one by one. No request overtakes an earlier one. */
  ensure(installationId: string, signal: AbortSignal): Promise<void> {
    const changes = this.#changes;
    const ended = this.#last.then(() => this.#ensure(installationId, changes, signal));
    this.#last = ended.catch(() => undefined);
    return unlessAborted(ended, signal);
  }

  async #ensure(installationId: string, changes: readonly Fields[], signal: AbortSignal): Promise<void> {
    // Negative where the clock of the device was set back.
    const age = Date.now() - (this.#savedAt ?? -Infinity);
    if (age < 0 || age >= RENEW_AFTER_MS) await this.#save(installationId, this.#fields, signal);
    const refusals: unknown[] = [];
    for (const change of changes.filter((one) => this.#changes.includes(one))) {
      const refusal = await this.#saveChange(installationId, change, signal);
      if (refusal !== undefined) refusals.push(refusal);
    }
    if (refusals.length > 0) throw refusals[0];
  }

  /** @returns why the server will never take the change, which would fail all later saves */
  async #saveChange(installationId: string, change: Fields, signal: AbortSignal): Promise<RefusedRequest | undefined> {
    const forget = () => {
      this.#changes = this.#changes.filter((one) => one !== change);
    };
    try {
      await this.#save(installationId, { ...this.#fields, ...change }, signal);
    } catch (error) {
      if (!(error instanceof RefusedRequest) || !FINAL_STATUSES.includes(error.status)) throw error;
      forget();
      return error;
    }
    forget();
    return undefined;
  }

  async #save(installationId: string, fields: Fields, signal: AbortSignal): Promise<void> {
    const { appId, appKey, server, fetch } = this.options;
    const request = {
      what: 'the registration of the installation',
      url: `${server}/1.1/installations`,
      method: 'POST',
      headers: { 'x-lc-id': appId, 'x-lc-key': appKey },
      body: { deviceType: 'web', ...fields, installationId },
    };
    const saved = (await requestJson(fetch, request, signal)) as { objectId?: unknown } | null | undefined;
    if (typeof saved?.objectId !== 'string')
      throw new Error(`${request.what} got no objectId: check that \`server\` is the URL of the REST API`);
    this.isSaved = true;
    this.#savedAt = Date.now();
    this.#fields = withoutOperations(fields);
  }
}

/** An operation, such as `AddUnique`, is for once. */
function withoutOperations(fields: Fields): Fields {
  const isOperation = (value: unknown) => typeof value === 'object' && value !== null && '__op' in value;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isOperation(value)));
}
