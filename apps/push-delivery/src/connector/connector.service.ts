import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MemoryRequestCounter, parseRateLimit, type RateLimit } from '#admission';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { directMessageHandler, DirectMessages } from '#messaging';
import { continueTrace, Metrics, recordInSpan } from '#observability';
import {
  type ConnectOutcome,
  DEVICE_QUEUES,
  type DeviceAddress,
  type DeviceQueues,
  type MessageRef,
  type QueuePage,
} from '../device-queues/device-queues.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { conflictDelayMs, DeviceAdmission, PAGE_LENGTH } from './device-admission.js';
import type { ConnectionHost, DeviceConnection } from './device-connection.js';
import type { Arrival, DeviceSession } from './device-session.js';
import { FRAMING_NAMES } from './framings/framings.js';
import { MessageCache } from './message-cache.js';
import { everySo, Gathered, isUnavailable, QueueWrites, RetryingWorkQueue } from './queue-writes.js';
import { CLOSE, closeCodeLabel, type Effect } from './session-effects.js';

const CONCURRENCY = 256;
/** Time after a reconnect in which a wake-up may refer to a message that the device already has. */
const DISTRUST_MS = 10_000;

@Injectable()
export class ConnectorService implements ConnectionHost {
  /** Separate from pages: if applications cannot be looked up, connected devices still get messages. */
  readonly #logins: RetryingWorkQueue<DeviceConnection>;
  readonly #pages: RetryingWorkQueue<DeviceConnection>;
  readonly #loginLimit: RateLimit | undefined;
  readonly #loginCounter = new MemoryRequestCounter();

  constructor(
    private readonly connections: Connections,
    private readonly admission: DeviceAdmission,
    private readonly messages: MessageCache,
    private readonly writes: QueueWrites,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    @Inject(PUSH_DELIVERY_CONFIG) { connector }: PushDeliveryConfig,
  ) {
    this.#loginLimit = parseRateLimit(connector.loginLimit);
    const work = {
      work: (connection: DeviceConnection) => this.#serve(connection),
      concurrency: CONCURRENCY,
      shards: queues.shards,
    };
    [this.#logins, this.#pages] = [new RetryingWorkQueue(work), new RetryingWorkQueue(work)];
    for (const framing of FRAMING_NAMES) metrics.pushConnections.set({ framing }, 0);
  }

  opened(connection: DeviceConnection): void {
    this.connections.add(connection, performance.now());
    this.metrics.pushConnections.inc({ framing: connection.framing.name });
  }

  connect(connection: DeviceConnection): void {
    this.connections.hasSentLogin(connection);
    const { device } = connection.session;
    if (device !== undefined) connection.shard = this.queues.shardOf(device);
    void this.#isWithinLoginLimit(connection.network).then((isWithinLimit) => {
      if (isWithinLimit) this.#logins.add(connection);
      else connection.perform(connection.session.refuse(CLOSE.tooFast, 'Too many logins.'));
    });
  }

  peek(connection: DeviceConnection): void {
    this.#pages.add(connection);
  }

  acknowledge({ session, shard }: DeviceConnection, refs: readonly MessageRef[], reportedUpTo: number): void {
    if (session.device === undefined) return;
    this.writes.acknowledge(shard, { device: session.device, refs, reportedUpTo });
    this.metrics.pushAcknowledgements.inc({ outcome: 'received' }, refs.length);
  }

  sent({ messages }: { readonly messages: number }): void {
    this.metrics.pushMessagesSent.inc(messages);
  }

  closed(connection: DeviceConnection, code: number): void {
    this.metrics.pushConnections.dec({ framing: connection.framing.name });
    this.metrics.pushConnectionsClosed.inc({ code: closeCodeLabel(code) });
    this.#logins.forget(connection);
    this.#pages.forget(connection);
    const { device, id } = connection.session;
    this.connections.remove(connection);
    if (device !== undefined) this.admission.left(device, id);
  }

  stop(): void {
    this.#logins.close();
    this.#pages.close();
  }

  /** Counts a login. The id of an installation is its credential, so many logins from one client network may be guesses. */
  async #isWithinLoginLimit(network: string): Promise<boolean> {
    if (this.#loginLimit === undefined) return true;
    const { count } = await this.#loginCounter.count(network, this.#loginLimit.windowSeconds);
    if (count <= this.#loginLimit.count) return true;
    this.metrics.pushLogins.inc({ outcome: 'limited' });
    return false;
  }

  /** A login whose first page could not be read is repeated as a page: its session is open by then. */
  async #serve(connection: DeviceConnection): Promise<void> {
    const { device, isConnecting, isOpen } = connection.session;
    try {
      if (device !== undefined && isConnecting) await this.#admit(connection, device);
      else if (isOpen) await this.#deliverNextPage(connection);
    } catch (error) {
      // The queue repeats the work when the dependency is available again.
      if (!isUnavailable(error)) this.#failed(connection);
      throw error;
    }
  }

  /** After an internal error. Without an answer the device would wait for its login forever. */
  #failed(connection: DeviceConnection): void {
    const { session } = connection;
    if (session.isConnecting) connection.perform(session.refuse(CLOSE.internal, 'Internal server error.'));
    else session.pageFailed();
  }

  async #admit(connection: DeviceConnection, device: DeviceAddress): Promise<void> {
    const outcome = await this.admission.admit(connection, device);
    if (outcome === undefined) return;
    const delayMs = conflictDelayMs(outcome.conflicts);
    if (delayMs === 0) {
      connection.gatherFrames();
      this.#open(connection, device, outcome);
      await this.#deliverPage(connection, outcome.page);
      return;
    }
    setTimeout(() => {
      if (connection.session.hasEnded()) return;
      this.#open(connection, device, outcome);
      // The page is outdated by now.
      connection.session.pageFailed();
      connection.perform(connection.session.resync());
    }, delayMs);
  }

  #open(connection: DeviceConnection, device: DeviceAddress, outcome: ConnectOutcome): void {
    const wasHere = this.admission.wasHere(device, outcome);
    connection.perform(connection.session.connected(wasHere ? performance.now() + DISTRUST_MS : 0));
    this.metrics.pushLogins.inc({ outcome: 'ok' });
  }

  /** @throws AppError SERVICE_UNAVAILABLE; the call can be repeated */
  async #deliverNextPage(connection: DeviceConnection): Promise<void> {
    // Otherwise the page would contain messages that the device has acknowledged.
    await this.writes.acknowledged(connection.shard);
    const { device } = connection.session;
    if (device === undefined || connection.session.hasEnded()) return;
    await this.#deliverPage(connection, await this.queues.peek(device, PAGE_LENGTH));
  }

  /** The next page, which reports the loss, follows at once. */
  async #discard(connection: DeviceConnection, lost: readonly MessageRef[]): Promise<void> {
    const { device } = connection.session;
    if (lost.length === 0 || device === undefined) return;
    await this.queues.discard(device, lost);
    connection.perform(connection.session.resync());
  }

  async #deliverPage(connection: DeviceConnection, page: QueuePage): Promise<void> {
    const { refs, effects } = connection.session.selectMessages(page);
    connection.perform(effects);
    const { messages, lost } = await this.messages.load(refs, this.clock);
    await this.#discard(connection, lost);
    connection.perform(connection.session.deliverPage(messages, page, performance.now()));
  }
}

type WakeUp = DirectMessagePayload<typeof connectorMessages.deliver>['wakeUps'][number];

/** The event loop runs other work after these numbers. */
const TARGETS_AT_ONCE = 2_000;
const DEVICES_AT_ONCE = 250;
/** Limit of the targets that are served together, unless one notification has more. */
const MAX_TARGETS = 50_000;

@Injectable()
export class ConnectorInbox implements OnApplicationBootstrap {
  readonly #ordered = handOvers((all) => this.#handOver(all));
  /** Only large pushes are overtaken. */
  readonly #large = handOvers(async (all) => {
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
        (isBulk ? this.#large : this.#ordered).add(wakeUps.map(handOverOf)),
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
  async #handOver(all: readonly HandOver[]): Promise<void> {
    const written = this.#writeFrames(all);
    const spans = all.map((one) => {
      const attributes = { 'gatepost.push.id': one.message.id, 'gatepost.push.devices': one.devices };
      return continueTrace(one.traceparent, { name: 'push frames', attributes }, async () => {
        await written;
        // The other devices are behind, and get the message from their queues.
        recordInSpan({ 'gatepost.push.frames': one.frames });
      });
    });
    await Promise.all([written, ...spans]);
  }

  /** The messages that a device gets share a frame. */
  async #writeFrames(all: readonly HandOver[]): Promise<void> {
    const pause = everySo(DEVICES_AT_ONCE);
    for (const [connection, arrivals] of await this.#arrivals(all)) {
      await pause();
      try {
        connection.perform(effectsOf(connection.session, arrivals));
      } catch (error) {
        connection.failed(error);
      }
    }
  }

  async #arrivals(all: readonly HandOver[]): Promise<Map<DeviceConnection, TracedArrival[]>> {
    const arrivals = new Map<DeviceConnection, TracedArrival[]>();
    const pause = everySo(TARGETS_AT_ONCE);
    for (const handOver of all) {
      await pause(handOver.devices);
      this.#addTargets(handOver, arrivals);
    }
    return arrivals;
  }

  #addTargets(handOver: HandOver, arrivals: Map<DeviceConnection, TracedArrival[]>): void {
    const { message, targets } = handOver;
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    for (const [platform, installationIds] of targets) {
      const arrival = { handOver, deliverable: cached.deliverable(platform), mustAsk: handOver.isRepeated };
      for (const connection of this.connections.findAll(message.appId, installationIds)) {
        const own = arrivals.get(connection) ?? [];
        own.push(arrival);
        arrivals.set(connection, own);
      }
    }
  }
}

function handOvers(work: (all: readonly HandOver[]) => Promise<void>): Gathered<readonly HandOver[]> {
  const weightOf = (all: readonly HandOver[]) => all.reduce((sum, { devices }) => sum + devices, 0);
  return new Gathered({ work: (notifications) => work(notifications.flat()), weightOf, limit: MAX_TARGETS });
}

function effectsOf(session: DeviceSession, arrivals: readonly TracedArrival[]): readonly Effect[] {
  const effects = session.wakeUp(arrivals, performance.now());
  const [first] = effects;
  const sent = first?.kind === 'send' && first.frame.kind === 'data' ? first.frame.messages : [];
  for (const message of sent) {
    const arrival = arrivals.find(({ deliverable }) => deliverable.message === message);
    if (arrival !== undefined) arrival.handOver.frames += 1;
  }
  return effects;
}

interface HandOver extends WakeUp {
  readonly devices: number;
  frames: number;
}

function handOverOf(wakeUp: WakeUp): HandOver {
  return { ...wakeUp, devices: wakeUp.targets.reduce((sum, [, ids]) => sum + ids.length, 0), frames: 0 };
}

interface TracedArrival extends Arrival {
  readonly handOver: HandOver;
}
