import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { directMessageHandler, DirectMessages } from '#messaging';
import { inSpan, noteInSpan } from '#observability';
import { Connections, ConnectorIdentity } from './connections.js';
import { DeviceAdmission } from './device-admission.js';
import { MessageCache } from './message-cache.js';

type WakeUp = DirectMessagePayload<typeof connectorMessages.deliver>;

/** The event loop runs other work after this number of devices. */
const DEVICES_AT_ONCE = 250;

/** Handles the direct messages of dispatchers and of other connectors. */
@Injectable()
export class ConnectorInbox implements OnApplicationBootstrap {
  #last: Promise<void> = Promise.resolve();

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
      directMessageHandler(connectorMessages.deliver, (wakeUp) => this.#deliver(wakeUp)),
      directMessageHandler(connectorMessages.evict, ({ session, ...device }) => {
        this.admission.evicted(device, session);
      }),
    ];
    this.directMessages.receiveAs(this.identity.node, handlers, () => {
      this.connections.resyncAll();
    });
  }

  /** Messages to several devices are handled one after the other, which keeps their order; a message to one device may overtake. */
  async #deliver(wakeUp: WakeUp): Promise<void> {
    if (wakeUp.targets.length === 1) return this.#handOver(wakeUp);
    const handedOver = this.#last.then(() => this.#handOver(wakeUp));
    this.#last = handedOver.catch(() => undefined);
    return handedOver;
  }

  #handOver(wakeUp: WakeUp): Promise<void> {
    const attributes = { 'gatepost.push.id': wakeUp.message.id, 'gatepost.push.devices': wakeUp.targets.length };
    return inSpan({ name: 'push frames', attributes }, () => this.#writeFrames(wakeUp));
  }

  async #writeFrames({ message, targets, isRepeated }: WakeUp): Promise<void> {
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    let frames = 0;
    for (const [index, [installationId, platform]] of targets.entries()) {
      if (index % DEVICES_AT_ONCE === DEVICES_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
      const connection = this.connections.find({ appId: message.appId, installationId });
      const deliverable = cached.deliverable({ id: message.id, platform });
      if (connection === undefined) continue;
      const effects = connection.session.wakeUp(deliverable, isRepeated, performance.now());
      connection.perform(effects);
      if (effects.some(({ kind }) => kind === 'send')) frames += 1;
    }
    // The other devices are behind, and get the message from their queues.
    noteInSpan({ 'gatepost.push.frames': frames });
  }
}
