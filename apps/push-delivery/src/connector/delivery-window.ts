import type { MessageRef, QueuePage } from '../device-queues/device-queues.js';

const MAX_MESSAGES = 32;
const MAX_BYTES = 65_536;
/** Limit of the remembered acknowledged ids: more than a queue holds or a login names. */
const MAX_KNOWN = 256;

interface Delivery {
  readonly ref: MessageRef;
  readonly bytes: number;
}

interface Gap {
  readonly id: string;
  readonly dropped: number;
}

/** The messages and the gap sent on the socket of a device. It uses memory only while messages are sent. */
export class DeliveryWindow {
  #inFlight: Map<string, Delivery> | undefined;
  #bytes = 0;
  #known: Set<string> | undefined;
  /** Until the store has recorded its acknowledgement. */
  #gap: { readonly id: string; readonly droppedUpTo: number; isAcknowledged: boolean } | undefined;

  /** A message that is larger than the window is sent alone. */
  hasRoomFor(bytes: number): boolean {
    const count = this.#inFlight?.size ?? 0;
    return count === 0 || (count < MAX_MESSAGES && this.#bytes + bytes <= MAX_BYTES);
  }

  isHalfEmpty(): boolean {
    return (this.#inFlight?.size ?? 0) <= MAX_MESSAGES / 2 && this.#bytes <= MAX_BYTES / 2;
  }

  isInFlight(id: string): boolean {
    return this.#inFlight?.has(id) ?? false;
  }

  isKnown(id: string): boolean {
    return this.#known?.has(id) ?? false;
  }

  sent(ref: MessageRef, bytes: number): void {
    (this.#inFlight ??= new Map()).set(ref.id, { ref, bytes });
    this.#bytes += bytes;
  }

  acknowledged(id: string): MessageRef | undefined {
    const delivery = this.#inFlight?.get(id);
    if (delivery === undefined) return undefined;
    this.#inFlight?.delete(id);
    this.#bytes -= delivery.bytes;
    this.remember(delivery.ref.id);
    return delivery.ref;
  }

  remember(id: string): void {
    const known = (this.#known ??= new Set());
    known.add(id);
    if (known.size <= MAX_KNOWN) return;
    const [oldest] = known;
    if (oldest !== undefined) known.delete(oldest);
  }

  newGap(sessionId: string, { dropped, droppedUpTo }: QueuePage): Gap | undefined {
    if (dropped === 0 || this.#gap !== undefined) return undefined;
    this.#gap = { id: `gap-${sessionId}-${dropped}`, droppedUpTo, isAcknowledged: false };
    return { id: this.#gap.id, dropped };
  }

  /** @returns the position of the last drop in the gap if the ids acknowledge it for the first time, else 0 */
  acknowledgedGap(ids: readonly string[]): number {
    if (this.#gap === undefined || this.#gap.isAcknowledged || !ids.includes(this.#gap.id)) return 0;
    this.#gap.isAcknowledged = true;
    return this.#gap.droppedUpTo;
  }

  /** The store has recorded all acknowledgements: the next page has the drops after the gap. */
  forgetGap(): void {
    if (this.#gap?.isAcknowledged === true) this.#gap = undefined;
  }

  forgetKnown(): void {
    this.#known = undefined;
    if (this.#inFlight?.size === 0) this.#inFlight = undefined;
  }
}

/** Frames that a device may send at once, and per second after that, plus one for each message sent to it. */
const BURST = 100;
const PER_SECOND = 10;

/** Limits the frames of a device, with one more for each message that it has to acknowledge. */
export class FrameAllowance {
  #left = BURST;
  #countedAt = 0;

  consume(nowMs: number): boolean {
    const earned = ((nowMs - this.#countedAt) / 1_000) * PER_SECOND;
    this.#left = Math.min(Math.max(BURST, this.#left), this.#left + earned) - 1;
    this.#countedAt = nowMs;
    return this.#left >= 0;
  }

  /** Call it for messages sent: a device may acknowledge each in a frame of its own. */
  credit(messages: number): void {
    this.#left += messages;
  }
}
