import { Inject, Injectable, Logger } from '@nestjs/common';
import { chunksOf } from '#bootstrap';
import { connectorMessages, type PushMessage } from '#contracts';
import { abortableSleep, AppError, appError, Backoff, isAppError, messageOf } from '#errors';
import { DirectMessages } from '#messaging';
import { currentTraceparent } from '#observability';
import {
  byNode,
  CONNECTOR_NODES,
  type ConnectorNodes,
  type NodeWakeUp,
  type NotificationsByNode,
  type WakeUp,
  wakeUpNow,
} from '../device-queues/connector-nodes.js';
import { DEVICE_QUEUES, type DeviceQueues, type EnqueueBatch } from '../device-queues/device-queues.js';
import type { TargetedInstallation } from '../pushes/push.row.js';
import { isQueued, platformOf } from './delivery-counts.rules.js';
import type { LanePush } from './lanes.repository.js';

interface WakeUpOptions {
  readonly isBulk: boolean;
  readonly signal: AbortSignal;
  readonly shouldYield: () => boolean;
}

/** The delay after a failure other than SERVICE_UNAVAILABLE. */
export const FAILURE_DELAY_SECONDS = 10;
export const EXPIRED = 'The push expired before all its devices were found.';
const PARALLEL_OPERATIONS = 16;

@Injectable()
export class PushDelivery {
  readonly #logger = new Logger('Pushes');

  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly nodes: DirectMessages,
    @Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes,
  ) {}

  /** Writes the queues of the devices; can be repeated. @returns the wake-up of those that are connected @throws AppError SERVICE_UNAVAILABLE */
  async enqueue(push: LanePush, installations: readonly TargetedInstallation[], isRepeated: boolean): Promise<WakeUp> {
    const message = messageOfPush(push);
    const enqueuedAt = performance.now();
    const devices: WakeUp['devices'][number][] = [];
    for (const some of chunksOf(batchesOf(message, installations), PARALLEL_OPERATIONS)) {
      const operations = some.map((batch) => this.queues.enqueue(batch));
      devices.push(...(await Promise.all(operations)).flat());
    }
    return { message, devices, isRepeated, enqueuedAt, traceparent: currentTraceparent() };
  }

  /** In the order of the messages. Resolves when every live connector is notified: only this wakes its devices. @throws AppError SERVICE_UNAVAILABLE if the caller should yield */
  async wake(wakeUps: readonly WakeUp[], { isBulk, signal, shouldYield }: WakeUpOptions): Promise<void> {
    let pending = byNode(wakeUps);
    const backoff = new Backoff();
    for (;;) {
      pending = await this.#attempt(pending, isBulk);
      if (pending.size === 0 || signal.aborted) return;
      if (shouldYield()) throw appError('SERVICE_UNAVAILABLE');
      await abortableSleep(backoff.next(), signal);
      pending = await this.#living(pending);
    }
  }

  async #attempt(notifications: NotificationsByNode, isBulk: boolean): Promise<NotificationsByNode> {
    const attempts = [...notifications].map(
      async ([node, some]) => [node, await this.#notify(node, some, isBulk)] as const,
    );
    return new Map((await Promise.all(attempts)).filter(([, left]) => left.length > 0));
  }

  /** @returns the notifications from the first one on that the broker did not accept */
  async #notify(node: string, notifications: readonly (readonly NodeWakeUp[])[], isBulk: boolean) {
    for (const [place, some] of notifications.entries()) {
      try {
        await this.nodes.send(node, connectorMessages.deliver, { isBulk, wakeUps: some.map(wakeUpNow) });
      } catch (error) {
        this.#logger.debug(`connector ${node} could not be notified: ${messageOf(error)}`);
        return notifications.slice(place);
      }
    }
    return [];
  }

  async #living(notifications: NotificationsByNode): Promise<NotificationsByNode> {
    const living = new Set((await this.connectors.live()).map(({ id }) => id));
    return new Map([...notifications].filter(([node]) => living.has(node)));
  }
}

function messageOfPush({ objectId, appId, seq, expiresAt, message }: LanePush): PushMessage {
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

/** `isFinal`: the request itself is invalid, whereas a query that timed out may succeed later. */
export function failureOf(error: unknown): { readonly isFinal: boolean; readonly text: string } {
  if (!(error instanceof AppError))
    return { isFinal: false, text: 'Internal server error. See the server log for details.' };
  return { isFinal: error.status < 500 && !error.is('QUERY_TIMED_OUT'), text: error.message };
}

interface Pause extends Pick<WakeUpOptions, 'signal' | 'shouldYield'> {
  readonly backoff: Backoff;
  readonly log: (text: string) => void;
}

/** Pauses before the next attempt, unless the caller should yield. @returns whether it paused @throws every error but SERVICE_UNAVAILABLE */
export async function pauseWhileUnavailable(error: unknown, pause: Pause): Promise<boolean> {
  const { backoff, signal, shouldYield, log } = pause;
  if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
  if (shouldYield()) return false;
  const pauseMs = backoff.next();
  log(`waits ${pauseMs} ms: ${messageOf(error)}`);
  await abortableSleep(pauseMs, signal);
  return true;
}
