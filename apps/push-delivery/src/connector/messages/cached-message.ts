import type { PushMessage } from '#contracts';
import type { MessageRef } from '../../device-queues/device-queues.js';
import type { DeliveredMessage } from '../framings/server-frame.js';
import type { Deliverable } from '../sessions/device-session.js';

/** A message with its bodies, one for each platform that has its own. */
export class CachedMessage {
  /** Of all bodies. */
  readonly bytes: number;
  readonly #expiresAt: number;
  readonly #byPlatform: ReadonlyMap<string, DeliveredMessage>;
  readonly #common: DeliveredMessage;

  constructor({ id, expiresAt, bodies, body }: PushMessage) {
    const delivered = (text: string) => ({ id, body: text, bytes: Buffer.byteLength(text) });
    this.#expiresAt = expiresAt;
    this.#common = delivered(body);
    this.#byPlatform = new Map(Object.entries(bodies).map(([platform, text]) => [platform, delivered(text)]));
    this.bytes = [this.#common, ...this.#byPlatform.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  hasExpired(now: Date): boolean {
    return this.#expiresAt <= now.getTime();
  }

  deliverable(ref: MessageRef): Deliverable {
    return { ref, message: this.#byPlatform.get(ref.platform) ?? this.#common };
  }
}
