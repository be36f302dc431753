import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Tx } from '#database';
import { messageOf } from '#errors';
import { assertObjectSize, newObjectId, touched } from '#objects';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { InstallationAccess } from './installation.presenter.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';
import { duplicatesAmong, newInstallation, registeredAmong } from './installation.rules.js';
import { InstallationsRepository } from './installations.repository.js';

/**
 * A write whose checks that need no stored installation have passed. The remaining checks run in a transaction, with or without
 * other writes, that has locked the identity.
 */
export interface PreparedWrite<T> {
  readonly identity: InstallationIdentity;
  /** @throws AppError if the installation's state or its ACL refuses the write; the transaction must then be rolled back */
  run(tx: Tx): Promise<T>;
}

/** Makes every change of an installation. */
@Injectable()
export class InstallationWriter {
  readonly #logger = new Logger('Installations');

  constructor(
    private readonly installations: InstallationsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly database: PushDatabase,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) private readonly config: PushDeliveryConfig,
  ) {}

  /** Runs the writes in order and in one transaction: all or none. */
  runAll<T>(appId: string, writes: readonly PreparedWrite<T>[]): Promise<T[]> {
    return this.database.transaction(async (tx) => {
      await this.installations.lockIdentities(
        tx,
        appId,
        writes.map(({ identity }) => identity),
      );
      const results: T[] = [];
      for (const write of writes) results.push(await write.run(tx));
      return results;
    });
  }

  async run<T>(appId: string, write: PreparedWrite<T>): Promise<T> {
    const [result] = await this.runAll(appId, [write]);
    return result as T;
  }

  async lock(tx: Tx, appId: string, objectId: string): Promise<InstallationRow | undefined> {
    return (await this.installations.lockMatching(tx, appId, { objectId }))[0];
  }

  /** The stored installation that a registration refers to. */
  async lockRegistered(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow | undefined> {
    return registeredAmong(await this.installations.lockMatching(tx, appId, identity), identity);
  }

  /**
   * Creates or changes the installation, and removes the other installations of the same device: a device has one queue and gets
   * a push once.
   * @param before undefined for a new installation
   * @returns the installation as it is stored
   * @throws AppError OBJECT_TOO_LARGE; FORBIDDEN if the ACL of an installation to be removed refuses
   */
  async save(
    tx: Tx,
    access: InstallationAccess,
    before: InstallationRow | undefined,
    change: (current: InstallationRow) => InstallationRow,
  ): Promise<InstallationRow> {
    const { appId } = access.scope;
    const now = this.clock.now();
    const changed = change(before ?? newInstallation(newObjectId(now), now));
    const saved = before === undefined ? changed : { ...changed, ...touched(before, now) };
    assertObjectSize(saved.fields, this.config.objectLimitBytes);
    const duplicates = duplicatesAmong(await this.installations.lockMatching(tx, appId, saved), saved);
    for (const duplicate of duplicates) access.assertMayWrite(duplicate);
    if (duplicates.length > 0) await this.installations.remove(tx, appId, idsOf(duplicates));
    if (before === undefined) await this.installations.insert(tx, appId, saved);
    else await this.installations.update(tx, appId, saved);
    this.#clearQueuesAfterCommit(tx, appId, [...duplicates, ...(before === undefined ? [] : [before])], [saved]);
    return saved;
  }

  /** Removes installations whose rows are locked. */
  async remove(tx: Tx, appId: string, removed: readonly InstallationRow[]): Promise<void> {
    await this.installations.remove(tx, appId, idsOf(removed));
    this.#clearQueuesAfterCommit(tx, appId, removed);
  }

  /**
   * Deletes the queues of removed installations after the commit. The request does not wait for it, and a failure is only logged:
   * messages that remain expire, and a device that registers under the same id is the device that they were sent to.
   * @param kept installations whose queues stay, even if their id has changed
   */
  #clearQueuesAfterCommit(
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
        this.#logger.warn(
          `the queues of ${devices.length} removed installations were not deleted and will expire: ${messageOf(error)}`,
        );
      });
    });
  }
}

function idsOf(installations: readonly InstallationRow[]): string[] {
  return installations.map(({ objectId }) => objectId);
}

/** Prepares writes one after the other. @throws AppError of the first write that is refused */
export async function prepareAll<W, T>(
  writes: readonly W[],
  prepare: (write: W) => Promise<PreparedWrite<T>>,
): Promise<PreparedWrite<T>[]> {
  const prepared: PreparedWrite<T>[] = [];
  for (const write of writes) prepared.push(await prepare(write));
  return prepared;
}
