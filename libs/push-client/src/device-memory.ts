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

/** The part of `localStorage` that the client uses. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
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

/** Parses a state from its JSON text, for stores. @returns undefined for any other text */
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

/** The state of this device, and its persistence. */
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

  /** The latest ids, oldest first. */
  latest(count: number): string[] {
    return [...this.#seen].slice(-count);
  }

  /**
   * Resolves once the current state is stored. Calls during a write share the next one. A store that fails is reported, and the device
   * continues: it recognises repeated messages while the process runs.
   */
  save(): Promise<void> {
    if (this.#writing === undefined) return this.#write();
    this.#next ??= this.#writing.then(() => {
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

/**
 * A secret name of the device: random, because any client that knows it receives the device's messages. Works on pages without TLS, too.
 */
function newInstallationId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
