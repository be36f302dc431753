import { Inject, Injectable, Logger } from '@nestjs/common';
import { connectorMessages, type PushMessage } from '#contracts';
import { messageOf } from '#errors';
import { NodeMessages } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../connector-nodes/connector-nodes.js';
import type { ConnectedDevice } from '../device-queues/device-queues.js';
import { abortableSleep } from './abortable-sleep.js';
import { Backoff } from './backoff.js';

export interface Hint {
  readonly message: PushMessage;
  readonly devices: readonly ConnectedDevice[];
  /** The devices may have been told of the message before. */
  readonly isRepeated: boolean;
}

/** Tells connectors that a message has come into the queues of devices that they hold: one message for each connector. */
@Injectable()
export class DeviceHints {
  private readonly logger = new Logger('Pushes');

  constructor(
    private readonly nodes: NodeMessages,
    @Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes,
  ) {}

  /**
   * Resolves when every connector is told that still lives. One that is too far behind holds the push up, and so does a broker
   * that is away: while a connector lives, nobody else would tell its devices.
   */
  async tell({ devices, ...hint }: Hint, signal: AbortSignal): Promise<void> {
    let untold = byNode(devices);
    const backoff = new Backoff();
    for (;;) {
      untold = await this.#attempt(untold, hint);
      if (untold.size === 0 || signal.aborted) return;
      await abortableSleep(backoff.next(), signal);
      untold = await this.#living(untold);
    }
  }

  /** @returns whom the broker did not take the message for */
  async #attempt(devices: DevicesByNode, { message, isRepeated }: Omit<Hint, 'devices'>): Promise<DevicesByNode> {
    const failed: DevicesByNode = new Map();
    const attempts = [...devices].map(async ([node, targets]) => {
      await this.nodes
        .send(node, connectorMessages.deliver, { message, targets, isRepeated })
        .catch((error: unknown) => {
          this.logger.debug(`connector ${node} could not be told: ${messageOf(error)}`);
          failed.set(node, targets);
        });
    });
    await Promise.all(attempts);
    return failed;
  }

  async #living(devices: DevicesByNode): Promise<DevicesByNode> {
    const living = new Set((await this.connectors.live()).map(({ id }) => id));
    return new Map([...devices].filter(([node]) => living.has(node)));
  }
}

/** Installation ids and platforms, by connector. */
type DevicesByNode = Map<string, [installationId: string, platform: string][]>;

function byNode(devices: readonly ConnectedDevice[]): DevicesByNode {
  const grouped: DevicesByNode = new Map();
  for (const { node, installationId, platform } of devices) {
    const targets = grouped.get(node);
    if (targets === undefined) grouped.set(node, [[installationId, platform]]);
    else targets.push([installationId, platform]);
  }
  return grouped;
}
