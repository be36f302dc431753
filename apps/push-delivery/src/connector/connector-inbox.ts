import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#clock';
import { connectorMessages, type NodeMessagePayload } from '#contracts';
import { nodeMessageHandler, NodeMessages } from '#messaging';
import { ConnectorIdentity } from './connector-identity.js';
import { DeviceAdmission } from './device-admission.js';
import { MessageCache } from './messages/message-cache.js';
import { Connections } from './sockets/connections.js';

/** After so many devices, others get their turn. */
const DEVICES_AT_ONCE = 250;

/** What dispatchers and other connectors tell this one. */
@Injectable()
export class ConnectorInbox implements OnApplicationBootstrap {
  constructor(
    private readonly identity: ConnectorIdentity,
    private readonly nodeMessages: NodeMessages,
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
    this.nodeMessages.receiveAs(this.identity.node, handlers, () => {
      this.connections.resyncAll();
    });
  }

  async #deliver({
    message,
    targets,
    isRepeated,
  }: NodeMessagePayload<typeof connectorMessages.deliver>): Promise<void> {
    const cached = this.messages.add(message);
    if (cached.hasExpired(this.clock.now())) return;
    for (const [index, [installationId, platform]] of targets.entries()) {
      if (index % DEVICES_AT_ONCE === DEVICES_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
      const connection = this.connections.find({ appId: message.appId, installationId });
      const deliverable = cached.deliverable({ id: message.id, platform });
      connection?.perform(connection.session.hinted(deliverable, isRepeated, performance.now()));
    }
  }
}
