import type { DeviceAddress } from '../device-queues/device-address.js';

const GENERATION_MS = 10_000;
/** Where so many leave at once, the rest is forgotten: a hint that comes late may then show a message twice. */
const MAX_DEVICES = 200_000;

/** The devices whose connections have ended here lately: hints that were meant for those may still be on their way. */
export class RecentDepartures {
  #young = new Set<string>();
  #old = new Set<string>();
  #bornMs = 0;

  add(device: DeviceAddress, nowMs: number): void {
    this.#age(nowMs);
    if (this.#young.size < MAX_DEVICES) this.#young.add(keyOf(device));
  }

  has(device: DeviceAddress, nowMs: number): boolean {
    this.#age(nowMs);
    const key = keyOf(device);
    return this.#young.has(key) || this.#old.has(key);
  }

  #age(nowMs: number): void {
    const age = nowMs - this.#bornMs;
    if (age < GENERATION_MS) return;
    this.#old = age < 2 * GENERATION_MS ? this.#young : new Set();
    this.#young = new Set();
    this.#bornMs = nowMs;
  }
}

function keyOf({ appId, installationId }: DeviceAddress): string {
  return `${appId}:${installationId}`;
}
