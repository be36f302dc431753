import { appId as appIdSchema, installationId as installationIdSchema } from '#contracts';
import { isStorableText } from '#objects';
import type { DeviceAddress, MessageRef } from '../device-queues/device-queues.js';
import { CLOSE, UNKNOWN_APPLICATION } from './session-effects.js';

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

/** Frames that a device may send at once, and each second after that, beside one for each message frame that it got. */
const BURST = 100;
const PER_SECOND = 10;

/** Tells a device that floods us from one that acknowledges what it gets. */
export class FrameAllowance {
  #left = BURST;
  #countedAt = 0;

  /** @returns whether this frame is still within it */
  take(nowMs: number): boolean {
    const earned = ((nowMs - this.#countedAt) / 1_000) * PER_SECOND;
    this.#left = Math.min(Math.max(BURST, this.#left), this.#left + earned) - 1;
    this.#countedAt = nowMs;
    return this.#left >= 0;
  }

  /** A frame was sent that asks for an answer. */
  earn(): void {
    this.#left += 1;
  }
}

/** Why a login cannot be good, whatever the store says. @param device whom the connection belongs to already */
export function loginProblem(
  appId: string,
  installationId: string,
  device: DeviceAddress | undefined,
): { readonly code: number; readonly reason: string } | undefined {
  if (!appIdSchema.safeParse(appId).success) return { code: CLOSE.unknownApplication, reason: UNKNOWN_APPLICATION };
  // What no installation can have, no store has to be asked for.
  if (!installationIdSchema.safeParse(installationId).success || !isStorableText(installationId))
    return { code: CLOSE.invalidLogin, reason: 'The installationId must be a text of 1 to 128 characters.' };
  if (device !== undefined && (device.appId !== appId || device.installationId !== installationId))
    return { code: CLOSE.invalidLogin, reason: 'Another device has logged in on this connection.' };
  return undefined;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * How long a login waits for its answer. One device that comes back while its old connection still seems to live has one
 * conflict; two that have the same id end each other again and again, later and later.
 */
export function conflictDelayMs(conflicts: number): number {
  return conflicts <= 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (conflicts - 2));
}
