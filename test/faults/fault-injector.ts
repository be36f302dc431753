import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '#testing';
import { type Cluster, type Service, SERVICES } from '../load/cluster.js';
import type { DeviceFleet } from '../load/device-fleet.js';
import type { Letterbox } from '../load/letterbox.js';
import type { MixedLoad } from '../load/mixed-load.js';
import type { PlannedFault } from './plan.js';
import type { PrivateServers } from './private-servers.js';

/** Far more than anything takes: what is not well by then never will be. */
const HEALTHY_MS = 180_000;

interface Scene {
  readonly cluster: Cluster;
  readonly servers: PrivateServers;
  readonly load: MixedLoad;
  readonly fleet: DeviceFleet;
  readonly letters: Letterbox;
}

/** A fault that was injected. */
export interface InjectedFault {
  readonly target: PlannedFault['target'];
  /** On the clock of `performance.now()`. */
  readonly from: number;
}

/** Injects faults, and measures the time until everything works again. */
export class FaultInjector {
  readonly injected: InjectedFault[] = [];
  /** Milliseconds from the start of the killed target (the last of several) until everything worked. */
  readonly recoveries: number[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly log: (line: string) => void,
  ) {}

  /** Injects the faults one after the other, until the time is over. @returns the number of injected faults */
  async inject(faults: readonly PlannedFault[], untilMs = Infinity): Promise<number> {
    let count = 0;
    for (const fault of faults) {
      if (performance.now() > untilMs) break;
      count += 1;
      await this.#injectOne(fault);
    }
    await this.#untilWell();
    return count;
  }

  async #injectOne({ target, afterMs, awayMs, isFollowed }: PlannedFault): Promise<void> {
    // Each target has work in progress when it is killed.
    this.scene.load.burst();
    await sleep(afterMs);
    this.injected.push({ target, from: performance.now() });
    const revive = await this.#stop(target);
    await sleep(awayMs);
    const startedAt = performance.now();
    await revive();
    if (isFollowed) {
      this.log(`${target} away for ${awayMs} ms; the next once it runs`);
      return;
    }
    await this.#untilWell();
    this.recoveries.push(performance.now() - startedAt);
    this.log(`${target} away for ${awayMs} ms; all well ${seconds(performance.now() - startedAt)} after its start`);
  }

  async #stop(target: PlannedFault['target']): Promise<() => Promise<void>> {
    const { cluster, servers } = this.scene;
    return isService(target) ? cluster.killOne(target) : servers.crash(target);
  }

  /** Every process is ready, every device is connected, a user signs up, logs in and gets a mail, and all devices get a push. */
  async #untilWell(): Promise<void> {
    const { cluster, fleet } = this.scene;
    await eventually(async () => {
      const states = await Promise.all(cluster.replicas.map(({ port }) => problemsOf(port)));
      const problems = states.filter((text) => text !== '');
      if (problems.length > 0) throw new Error(problems.join('\n'));
      if (fleet.missing > 0) throw new Error(`${fleet.missing} devices are not connected: ${fleet.lastError}`);
    }, HEALTHY_MS);
    await eventually(() => this.#tryEverything(), HEALTHY_MS);
  }

  async #tryEverything(): Promise<void> {
    const { load, fleet, letters } = this.scene;
    const user = await load.signUp();
    if (user === undefined || (await load.logIn(user)) !== 'acknowledged') throw new Error('sign-up or login fails');
    const push = await load.push();
    if (push === undefined) throw new Error('pushes are not accepted');
    await eventually(async () => {
      await letters.fetch();
      if (letters.mailsTo(user.email).length === 0) throw new Error(`no mail has come to ${user.email}`);
      const reached = fleet.reached(push);
      if (reached < fleet.size - fleet.away) throw new Error(`push ${push} has reached ${reached} devices`);
    }, HEALTHY_MS);
  }
}

async function problemsOf(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
  return answer.ok ? '' : answer.text();
}

function isService(target: PlannedFault['target']): target is Service {
  return SERVICES.some((service) => service === target);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
