import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { directMessageHandler, DirectMessages } from '#messaging';
import { continueTrace, noteInSpan } from '#observability';
import { Connections, ConnectorIdentity } from './connections.js';
import { DeviceAdmission } from './device-admission.js';
import { MessageCache } from './message-cache.js';

type Notification = DirectMessagePayload<typeof connectorMessages.deliver>;
type WakeUp = Notification['wakeUps'][number];

/** The event loop runs other work after this number of devices. */
const DEVICES_AT_ONCE = 250;

@Injectable()
export class ConnectorInbox implements OnApplicationBootstrap {
  #lastLarge: Promise<unknown> = Promise.resolve();
  #lastOrdered: Promise<unknown> = Promise.resolve();

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
      directMessageHandler(connectorMessages.deliver, (notification) => this.#deliver(notification)),
      directMessageHandler(connectorMessages.evict, ({ session, ...device }) => {
        this.admission.evicted(device, session);
      }),
    ];
    this.directMessages.receiveAs(this.identity.node, handlers, () => {
      this.connections.resyncAll();
    });
  }

  /** Notifications are handled one after the other, which keeps their order; only those of large pushes are overtaken. */
  #deliver({ isBulk, wakeUps }: Notification): Promise<void> {
    const before = isBulk ? Promise.all([this.#lastLarge, this.#lastOrdered]) : this.#lastOrdered;
    const handedOver = before.then(async () => {
      for (const wakeUp of wakeUps) await this.#handOver(wakeUp);
    });
    const settled = handedOver.catch(() => undefined);
    if (isBulk) this.#lastLarge = settled;
    else this.#lastOrdered = settled;
    return handedOver;
  }

  #handOver(wakeUp: WakeUp): Promise<void> {
    const attributes = { 'gatepost.push.id': wakeUp.message.id, 'gatepost.push.devices': wakeUp.targets.length };
    return continueTrace(wakeUp.traceparent, { name: 'push frames', attributes }, () => this.#writeFrames(wakeUp));
  }

  async #writeFrames({ message, targets, isRepeated }: WakeUp): Promise<void> {
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    let frames = 0;
    for (const [index, [installationId, platform]] of targets.entries()) {
      if (index % DEVICES_AT_ONCE === DEVICES_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
      const connection = this.connections.find({ appId: message.appId, installationId });
      const deliverable = cached.deliverable(platform);
      if (connection === undefined) continue;
      const effects = connection.session.wakeUp(deliverable, isRepeated, performance.now());
      connection.perform(effects);
      if (effects.some(({ kind }) => kind === 'send')) frames += 1;
    }
    // The other devices are behind, and get the message from their queues.
    noteInSpan({ 'gatepost.push.frames': frames });
  }
}
