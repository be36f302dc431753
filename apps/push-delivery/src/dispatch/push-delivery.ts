import { Inject, Injectable, Logger } from '@nestjs/common';
import { connectorMessages, type DirectMessagePayload, type PushMessage } from '#contracts';
import { messageOf } from '#errors';
import { DirectMessages } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import {
  chunksOf,
  type ConnectedDevice,
  DEVICE_QUEUES,
  type DeviceQueues,
  type EnqueueBatch,
  groupedBy,
} from '../device-queues/device-queues.js';
import { isQueued, platformOf } from './delivery-counts.rules.js';
import type { LanePush } from './lanes.repository.js';
import { abortableSleep, Backoff } from '../pushes/leases.js';
import type { TargetedInstallation } from '../pushes/push.row.js';

/** A message in the queues of connected devices. */
export interface WakeUp {
  readonly message: PushMessage;
  readonly devices: readonly ConnectedDevice[];
  /** The devices may have been notified of the message before. */
  readonly isRepeated: boolean;
  /** The span that the connectors continue. */
  readonly traceparent: string | undefined;
}

type Notification = DirectMessagePayload<typeof connectorMessages.deliver>;
type Target = [installationId: string, platform: string];
type NotificationsByNode = Map<string, Notification>;

/** Notifies connectors of new messages in the queues of their devices: one direct message for each connector, which keeps the order. */
@Injectable()
export class WakeUpNotifications {
  private readonly logger = new Logger('Pushes');

  constructor(
    private readonly nodes: DirectMessages,
    @Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes,
  ) {}

  /**
   * Resolves when every live connector is notified. A connector that is too far behind delays the pushes, and so does an unavailable
   * broker: only this notification wakes the devices of a live connector.
   */
  async send(wakeUps: readonly WakeUp[], { isBulk, signal }: WakeUpOptions): Promise<void> {
    let pending = byNode(wakeUps, isBulk);
    const backoff = new Backoff();
    for (;;) {
      pending = await this.#attempt(pending);
      if (pending.size === 0 || signal.aborted) return;
      await abortableSleep(backoff.next(), signal);
      pending = await this.#living(pending);
    }
  }

  /** @returns the notifications that the broker did not accept */
  async #attempt(notifications: NotificationsByNode): Promise<NotificationsByNode> {
    const failed: NotificationsByNode = new Map();
    const attempts = [...notifications].map(async ([node, notification]) => {
      await this.nodes.send(node, connectorMessages.deliver, notification).catch((error: unknown) => {
        this.logger.debug(`connector ${node} could not be notified: ${messageOf(error)}`);
        failed.set(node, notification);
      });
    });
    await Promise.all(attempts);
    return failed;
  }

  async #living(notifications: NotificationsByNode): Promise<NotificationsByNode> {
    const living = new Set((await this.connectors.live()).map(({ id }) => id));
    return new Map([...notifications].filter(([node]) => living.has(node)));
  }
}

interface WakeUpOptions {
  /** The messages are of a large push, and others may overtake them. */
  readonly isBulk: boolean;
  readonly signal: AbortSignal;
}

function byNode(wakeUps: readonly WakeUp[], isBulk: boolean): NotificationsByNode {
  const notifications: NotificationsByNode = new Map();
  for (const { message, devices, isRepeated, traceparent } of wakeUps) {
    for (const [node, some] of groupedBy(devices, (device) => device.node)) {
      const targets = some.map<Target>(({ installationId, platform }) => [installationId, platform]);
      const notification = notifications.get(node) ?? { isBulk, wakeUps: [] };
      notification.wakeUps.push({ message, targets, isRepeated, traceparent });
      notifications.set(node, notification);
    }
  }
  return notifications;
}

/** Concurrent operations on the queues for one page. */
const PARALLEL_OPERATIONS = 16;

/** Adds a push to the queues of devices and wakes the connected ones. */
@Injectable()
export class PushDelivery {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly wakeUps: WakeUpNotifications,
  ) {}

  /**
   * Adds a message to the queues of devices. The call can be repeated.
   * @returns the devices that are connected
   * @throws AppError SERVICE_UNAVAILABLE
   */
  async enqueue(message: PushMessage, installations: readonly TargetedInstallation[]): Promise<ConnectedDevice[]> {
    const batches = batchesOf(message, installations);
    const devices: ConnectedDevice[] = [];
    for (const some of chunksOf(batches, PARALLEL_OPERATIONS)) {
      const operations = some.map((batch) => this.queues.enqueue(batch));
      devices.push(...(await Promise.all(operations)).flat());
    }
    return devices;
  }

  /** Notifies the connectors of devices, in the order of the messages. */
  wake(wakeUps: readonly WakeUp[], options: WakeUpOptions): Promise<void> {
    return this.wakeUps.send(wakeUps, options);
  }
}

/** The message of a push for its devices. */
export function messageOfPush({ objectId, appId, seq, expiresAt, message }: LanePush): PushMessage {
  return {
    id: objectId,
    appId,
    order: seq,
    expiresAt: expiresAt.getTime(),
    body: message.body,
    bodies: message.bodies,
  };
}

/** The installations are ordered by partition, and so are their batches. */
function batchesOf(message: PushMessage, installations: readonly TargetedInstallation[]): EnqueueBatch[] {
  const batches: (EnqueueBatch & { devices: EnqueueBatch['devices'][number][] })[] = [];
  for (const { installationId, objectId, partition, deviceType } of installations.filter(isQueued)) {
    const device = { installationId, position: objectId, platform: platformOf({ deviceType }) };
    const batch = batches.at(-1);
    if (batch?.partition === partition) batch.devices.push(device);
    else batches.push({ message, partition, devices: [device] });
  }
  return batches;
}
