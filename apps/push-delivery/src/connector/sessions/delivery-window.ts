import type { MessageRef } from '../../device-queues/device-queues.js';

/** Messages, and bytes of their bodies, that a device may have without having acknowledged them. */
const MAX_MESSAGES = 32;
const MAX_BYTES = 65_536;
/** Acknowledged ids that are remembered: more than a queue holds messages, and a login names. */
const MAX_KNOWN = 256;

interface Delivery {
  readonly ref: MessageRef;
  readonly bytes: number;
}

/** What a device has had on its socket. It takes memory only while messages come. */
export class DeliveryWindow {
  #inFlight: Map<string, Delivery> | undefined;
  #bytes = 0;
  /** Oldest first. */
  #known: Set<string> | undefined;

  /** A message that is larger than the window goes alone. */
  hasRoomFor(bytes: number): boolean {
    const count = this.#inFlight?.size ?? 0;
    return count === 0 || (count < MAX_MESSAGES && this.#bytes + bytes <= MAX_BYTES);
  }

  isHalfEmpty(): boolean {
    return (this.#inFlight?.size ?? 0) <= MAX_MESSAGES / 2 && this.#bytes <= MAX_BYTES / 2;
  }

  /** Whether the message was sent on this socket and is not acknowledged. */
  isInFlight(id: string): boolean {
    return this.#inFlight?.has(id) ?? false;
  }

  /** Whether the device has said that it has the message. */
  isKnown(id: string): boolean {
    return this.#known?.has(id) ?? false;
  }

  sent(ref: MessageRef, bytes: number): void {
    (this.#inFlight ??= new Map()).set(ref.id, { ref, bytes });
    this.#bytes += bytes;
  }

  /** @returns undefined where it was not in flight */
  acknowledged(id: string): MessageRef | undefined {
    const delivery = this.#inFlight?.get(id);
    if (delivery === undefined) return undefined;
    this.#inFlight?.delete(id);
    this.#bytes -= delivery.bytes;
    this.remember(delivery.ref.id);
    return delivery.ref;
  }

  /** The device has this message, and shall not get it again. */
  remember(id: string): void {
    const known = (this.#known ??= new Set());
    known.add(id);
    if (known.size <= MAX_KNOWN) return;
    const [oldest] = known;
    if (oldest !== undefined) known.delete(oldest);
  }

  /** Gives back what memory it can. */
  forgetKnown(): void {
    this.#known = undefined;
    if (this.#inFlight?.size === 0) this.#inFlight = undefined;
  }
}
