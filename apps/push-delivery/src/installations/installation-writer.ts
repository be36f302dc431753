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

/**
 * A write that is checked as far as it can be without its installation. What is left belongs into a transaction, its own or
 * one with other writes, in which the identity is locked.
 */
export interface PreparedWrite<T> {
  readonly identity: InstallationIdentity;
  /** @throws AppError where the installation's state or its ACL refuses; then the transaction must not be committed */
  run(tx: Tx): Promise<T>;
}

/** The one place that changes installations. */
@Injectable()
export class InstallationWriter {
  constructor(
    private readonly installations: InstallationsRepository,
    private readonly queues: AbandonedQueues,
    private readonly database: PushDatabase,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) private readonly config: PushDeliveryConfig,
  ) {}

  /** Runs the writes in their order, in one transaction: all of them, or none. */
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

  /** The installation that a registration means, if it is there already. */
  async lockRegistered(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow | undefined> {
    return registeredAmong(await this.installations.lockMatching(tx, appId, identity), identity);
  }

  /**
   * Makes the installation, or changes it. Others that are the same device go: it has one queue, and gets a push once.
   * @param before undefined where it is new
   * @returns the installation as it is stored
   * @throws AppError OBJECT_TOO_LARGE; FORBIDDEN where the ACL of one that has to go refuses
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
    this.queues.forgetAfterCommit(tx, appId, [...duplicates, ...(before === undefined ? [] : [before])], [saved]);
    return saved;
  }

  /** Removes installations whose rows are locked. */
  async remove(tx: Tx, appId: string, removed: readonly InstallationRow[]): Promise<void> {
    await this.installations.remove(tx, appId, idsOf(removed));
    this.queues.forgetAfterCommit(tx, appId, removed);
  }
}

function idsOf(installations: readonly InstallationRow[]): string[] {
  return installations.map(({ objectId }) => objectId);
}
