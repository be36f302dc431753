import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { nodeMessageHandler, DirectMessages } from '#messaging';
import { inSpan, noteInSpan } from '#observability';
import { Connections, ConnectorIdentity } from './connections.js';
import { DeviceAdmission } from './device-admission.js';
import { MessageCache } from './message-cache.js';

type DeliverHint = DirectMessagePayload<typeof connectorMessages.deliver>;

/** After so many devices, others get their turn. */
const DEVICES_AT_ONCE = 250;

/** What dispatchers and other connectors tell this one. */
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
      nodeMessageHandler(connectorMessages.deliver, (hint) => this.#deliver(hint)),
      nodeMessageHandler(connectorMessages.evict, ({ session, ...device }) => {
        this.admission.evicted(device, session);
      }),
    ];
    this.directMessages.receiveAs(this.identity.node, handlers, () => {
      this.connections.resyncAll();
    });
  }

  /** Messages to many go one after the other, so that each device gets them in their order; one to a single device may overtake. */
  async #deliver(hint: DeliverHint): Promise<void> {
    if (hint.targets.length === 1) return this.#handOver(hint);
    const handedOver = this.#last.then(() => this.#handOver(hint));
    this.#last = handedOver.catch(() => undefined);
    return handedOver;
  }

  #handOver(hint: DeliverHint): Promise<void> {
    const attributes = { 'gatepost.push.id': hint.message.id, 'gatepost.push.devices': hint.targets.length };
    return inSpan({ name: 'push frames', attributes }, () => this.#writeFrames(hint));
  }

  async #writeFrames({ message, targets, isRepeated }: DeliverHint): Promise<void> {
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    let frames = 0;
    for (const [index, [installationId, platform]] of targets.entries()) {
      if (index % DEVICES_AT_ONCE === DEVICES_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
      const connection = this.connections.find({ appId: message.appId, installationId });
      const deliverable = cached.deliverable({ id: message.id, platform });
      if (connection === undefined) continue;
      const effects = connection.session.hinted(deliverable, isRepeated, performance.now());
      connection.perform(effects);
      if (effects.some(({ kind }) => kind === 'send')) frames += 1;
    }
    // The others are behind, and fetch the message from their queues.
    noteInSpan({ 'gatepost.push.frames': frames });
  }
}
