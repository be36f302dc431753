import { VISIT_MS } from '../sessions/device-session.js';
import type { Connections } from './connections.js';
import type { DeviceConnection } from './device-connection.js';

const TICK_MS = 100;

/** Visits every connection once in VISIT_MS, a few at each tick: no connection needs a timer of its own. */
export class ConnectionRounds {
  #timer: NodeJS.Timeout | undefined;
  #round: Iterator<DeviceConnection, undefined> | undefined;
  #begunMs = 0;
  #perTick = 1;

  constructor(private readonly connections: Connections) {}

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#tick(performance.now());
    }, TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(nowMs: number): void {
    if (this.#round === undefined) {
      if (nowMs - this.#begunMs < VISIT_MS) return;
      this.#begunMs = nowMs;
      this.#perTick = Math.ceil((this.connections.count * TICK_MS) / VISIT_MS);
      this.#round = this.connections.all()[Symbol.iterator]();
    }
    for (let count = 0; count <= this.#perTick; count += 1) {
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = undefined;
        return;
      }
      next.value.perform(next.value.session.visit(nowMs));
    }
  }
}
