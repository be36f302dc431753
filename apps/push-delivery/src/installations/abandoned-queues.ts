import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Tx } from '#database';
import { messageOf } from '#errors';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import type { InstallationRow } from './installation.row.js';

/** Forgets what waits for devices whose installations are gone. */
@Injectable()
export class AbandonedQueues {
  readonly #logger = new Logger('Installations');

  constructor(@Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues) {}

  /**
   * Once the transaction is committed. Nobody waits for it, and a failure is only logged: what is left then expires, and a
   * device that comes back under the same name is the one that it was meant for.
   * @param kept installations whose queues stay, whatever they were called before
   */
  forgetAfterCommit(
    tx: Tx,
    appId: string,
    gone: readonly InstallationRow[],
    kept: readonly InstallationRow[] = [],
  ): void {
    const keptIds = new Set(kept.map(({ installationId }) => installationId));
    const devices = gone.flatMap(({ installationId }) =>
      installationId === null || keptIds.has(installationId) ? [] : [{ appId, installationId }],
    );
    if (devices.length === 0) return;
    tx.afterCommit(() => {
      this.queues.clear(devices).catch((error: unknown) => {
        this.#logger.warn(`queues of ${devices.length} removed installations were left to expire: ${messageOf(error)}`);
      });
    });
  }
}
