import type { DeviceAddress } from './device-address.js';
import type { ConnectOutcome, DevicePresence, SessionRef } from './device-queues.js';

interface KnownSession extends SessionRef {
  readonly conflicts: number;
  /** When the last conflict was, in milliseconds; 0 where there was none. */
  readonly conflictAtMs: number;
}

/** Where devices are connected, in the memory of the process that holds all connections. */
export class Sessions {
  readonly #byApp = new Map<string, Map<string, KnownSession>>();

  constructor(private readonly conflictMs: number) {}

  connect(device: DeviceAddress, session: SessionRef, nowMs: number): Omit<ConnectOutcome, 'page'> {
    const known = this.#of(device);
    if (known === undefined || isSame(known, session)) {
      this.#set(device, { ...session, conflicts: known?.conflicts ?? 0, conflictAtMs: known?.conflictAtMs ?? 0 });
      return { previous: undefined, conflicts: known?.conflicts ?? 0 };
    }
    const conflicts = known.conflictAtMs + this.conflictMs > nowMs ? known.conflicts + 1 : 1;
    this.#set(device, { ...session, conflicts, conflictAtMs: nowMs });
    return { previous: { node: known.node, session: known.session }, conflicts };
  }

  /** @returns whether the device is where it is said to be now */
  reassert({ device, session }: DevicePresence): boolean {
    const known = this.#of(device);
    if (known !== undefined && known.node !== session.node) return false;
    if (known?.session !== session.session) this.#set(device, { ...session, conflicts: 0, conflictAtMs: 0 });
    return true;
  }

  disconnect({ device, session }: DevicePresence): void {
    const known = this.#of(device);
    if (known !== undefined && isSame(known, session)) this.#remove(device);
  }

  nodeOf(device: DeviceAddress): string | undefined {
    return this.#of(device)?.node;
  }

  count(appId: string): number {
    return this.#byApp.get(appId)?.size ?? 0;
  }

  endThoseOf(nodes: ReadonlySet<string>): void {
    for (const [appId, sessions] of this.#byApp) {
      const ended = [...sessions].filter(([, { node }]) => nodes.has(node));
      for (const [installationId] of ended) this.#remove({ appId, installationId });
    }
  }

  #of({ appId, installationId }: DeviceAddress): KnownSession | undefined {
    return this.#byApp.get(appId)?.get(installationId);
  }

  #set({ appId, installationId }: DeviceAddress, session: KnownSession): void {
    const sessions = this.#byApp.get(appId) ?? new Map<string, KnownSession>();
    this.#byApp.set(appId, sessions.set(installationId, session));
  }

  #remove({ appId, installationId }: DeviceAddress): void {
    const sessions = this.#byApp.get(appId);
    sessions?.delete(installationId);
    if (sessions?.size === 0) this.#byApp.delete(appId);
  }
}

function isSame(one: SessionRef, other: SessionRef): boolean {
  return one.node === other.node && one.session === other.session;
}
