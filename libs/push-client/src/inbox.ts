import type { DeviceMemory } from './device-memory.js';
import type { PushMessage } from './push-client.types.js';

/** Many times what a server sends without an acknowledgement. */
const MAX_WAITING = 1_000;

interface InboxOptions {
  readonly memory: DeviceMemory;
  readonly onMessage: (message: PushMessage) => void | Promise<void>;
  readonly onError: (error: Error) => void;
}

/**
 * Passes messages to the application: one at a time, each id once, expired ones never. It outlives connections, so that it recognises a
 * repeated message whose first copy is still being handled.
 */
export class Inbox {
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  /** The server's time at the origin of `performance.now()`, which no correction of the device's clock changes. */
  #serverOrigin: number | undefined;

  constructor(private readonly options: InboxOptions) {}

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
      await onMessage(message);
    } catch (error) {
      onError(new Error(`message ${message.id} could not be handled`, { cause: error }));
    }
    memory.add(message.id);
  }

  /** The id is stored before the acknowledgement, so that no message is handled twice. */
  async #settle(id: string, acknowledge: (id: string) => void): Promise<void> {
    await this.options.memory.save();
    acknowledge(id);
  }
}
