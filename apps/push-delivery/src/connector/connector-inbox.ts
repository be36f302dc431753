import { setImmediate } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { directMessageHandler, DirectMessages } from '#messaging';
import { continueTrace, recordInSpan } from '#observability';
import { Connections, ConnectorIdentity } from './connections.js';
import { DeviceAdmission } from './device-admission.js';
import type { DeviceConnection } from './device-connection.js';
import type { Deliverable } from './device-session.js';
import { MessageCache } from './message-cache.js';

type WakeUp = DirectMessagePayload<typeof connectorMessages.deliver>['wakeUps'][number];

/** The event loop runs other work after these numbers. */
const TARGETS_AT_ONCE = 2_000;
const DEVICES_AT_ONCE = 250;

@Injectable()
export class ConnectorInbox implements OnApplicationBootstrap {
  readonly #ordered = new Gathered<HandOver>((all) => this.#handOver(all));
  /** Only large pushes are overtaken. */
  readonly #large = new Gathered<HandOver>(async (all) => {
    await this.#ordered.settled();
    await this.#handOver(all);
  });

  constructor(
    private readonly identity: ConnectorIdentity,
    private readonly directMessages: DirectMessages,
    private readonly connections: Connections,
    private readonly messages: MessageCache,
    private readonly admission: DeviceAdmission,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    const handlers = [
      directMessageHandler(connectorMessages.deliver, ({ isBulk, wakeUps }) =>
        (isBulk ? this.#large : this.#ordered).add(wakeUps.map((wakeUp) => ({ ...wakeUp, frames: 0 }))),
      ),
      directMessageHandler(connectorMessages.evict, ({ session, ...device }) => {
        this.admission.evicted(device, session);
      }),
    ];
    this.directMessages.receiveAs(this.identity.node, handlers, () => {
      this.connections.resyncAll();
    });
  }

  /** The span of each push lasts until the devices have the frames of all. */
  #handOver(all: readonly HandOver[]): Promise<void> {
    const withSpan = (work: () => Promise<void>, one: HandOver) => () => {
      const attributes = { 'gatepost.push.id': one.message.id, 'gatepost.push.devices': one.targets.length };
      return continueTrace(one.traceparent, { name: 'push frames', attributes }, async () => {
        await work();
        // The other devices are behind, and get the message from their queues.
        recordInSpan({ 'gatepost.push.frames': one.frames });
      });
    };
    return all.reduce(withSpan, () => this.#writeFrames(all))();
  }

  /** The messages that a device gets share a write to its socket. */
  async #writeFrames(all: readonly HandOver[]): Promise<void> {
    let devices = 0;
    for (const [connection, arrivals] of await this.#arrivals(all)) {
      devices += 1;
      if (devices % DEVICES_AT_ONCE === 0) await setImmediate();
      const nowMs = performance.now();
      connection.perform(
        arrivals.flatMap(({ handOver, deliverable }) => {
          const effects = connection.session.wakeUp(deliverable, handOver.isRepeated, nowMs);
          if (effects.some(({ kind }) => kind === 'send')) handOver.frames += 1;
          return effects;
        }),
      );
    }
  }

  async #arrivals(all: readonly HandOver[]): Promise<Map<DeviceConnection, Arrival[]>> {
    const arrivals = new Map<DeviceConnection, Arrival[]>();
    for (const handOver of all) await this.#addTargets(handOver, arrivals);
    return arrivals;
  }

  async #addTargets(handOver: HandOver, arrivals: Map<DeviceConnection, Arrival[]>): Promise<void> {
    const { message, targets } = handOver;
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    for (const [place, [installationId, platform]] of targets.entries()) {
      if (place % TARGETS_AT_ONCE === TARGETS_AT_ONCE - 1) await setImmediate();
      const connection = this.connections.find({ appId: message.appId, installationId });
      if (connection === undefined) continue;
      const own = arrivals.get(connection) ?? [];
      own.push({ handOver, deliverable: cached.deliverable(platform) });
      arrivals.set(connection, own);
    }
  }
}

/** A message for connected devices, and to how many of them its frame was written. */
interface HandOver extends WakeUp {
  frames: number;
}

interface Arrival {
  readonly handOver: HandOver;
  readonly deliverable: Deliverable;
}

/** Does work in the order of its addition. All that waits is done together. */
class Gathered<Item> {
  #waiting: Item[] = [];
  #next: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly work: (items: readonly Item[]) => Promise<void>) {}

  /** Resolves when the items are done. @throws every error of the work */
  add(items: readonly Item[]): Promise<void> {
    this.#waiting.push(...items);
    if (this.#next === undefined) {
      this.#next = this.#last.then(() => {
        this.#next = undefined;
        return this.work(this.#waiting.splice(0));
      });
      this.#last = this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  settled(): Promise<unknown> {
    return this.#last;
  }
}
