/** What a device has to remember from one start to the next. */
export interface DeviceState {
  readonly installationId: string;
  /** Ids of the latest messages that the application has got, oldest first. Bounded by the client. */
  readonly seen: readonly string[];
}

/** Where a device keeps its state. The client calls one method at a time. */
export interface DeviceStore {
  /** @returns undefined where nothing was kept, or nothing that can be read */
  load(): DeviceState | undefined | Promise<DeviceState | undefined>;
  save(state: DeviceState): void | Promise<void>;
}

/** Keeps the state as long as the process lives. */
export function memoryStore(): DeviceStore {
  let kept: DeviceState | undefined;
  return {
    load: () => kept,
    save: (state) => {
      kept = state;
    },
  };
}

/** What the client needs of `localStorage`. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/** Keeps the state in a browser's `localStorage`, or in anything that is like it. `key`: one for each application of an origin. */
export function webStorageStore(storage: KeyValueStorage, key = 'gatepost-push'): DeviceStore {
  return {
    load: () => parseDeviceState(storage.getItem(key)),
    save: (state) => {
      storage.setItem(key, JSON.stringify(state));
    },
  };
}

/** A state out of its JSON text, for stores. @returns undefined for anything else */
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
