import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@nestjs/common';
import { isAppError, messageOf } from '#errors';
import {
  type ChannelName,
  type ClaimedRow,
  type Delivery,
  storedErrorText,
  retryDelaySeconds,
  type Settlement,
} from './delivery.rules.js';

/** Sends deliveries of one kind to an external server. Register it with `DeliverySender.register`. */
export abstract class DeliveryChannel {
  abstract readonly channel: ChannelName;
  readonly parallel: number = 4;

  /** The applications whose deliveries wait, without an attempt that counts. */
  pausedApplications(): readonly string[] {
    return [];
  }

  /** The applications of which one delivery at most is claimed, to find out whether their server is back. */
  probedApplications(): readonly string[] {
    return [];
  }

  /** The same id is sent again if its result could not be stored. @throws DeliveryRefused, ChannelUnavailable; other errors: it is retried */
  abstract send(delivery: Delivery): Promise<void>;
}

/** The server rejects this message permanently: it is not retried. */
export class DeliveryRefused extends Error {
  override readonly name = 'DeliveryRefused';
}

/** The server is unavailable for all messages: the channel pauses, and the attempt is not counted. */
export class ChannelUnavailable extends Error {
  override readonly name = 'ChannelUnavailable';
}

/** @param thrown by the channel; undefined if the server has accepted the message */
export function settlementOf(
  { id, lease, attempts, countedIn }: Pick<ClaimedRow, 'id' | 'lease' | 'attempts' | 'countedIn'>,
  thrown: unknown,
): Settlement {
  const settlement = { id, lease, delaySeconds: 0, ...(countedIn === undefined ? {} : { countedIn }) };
  if (thrown === undefined) return { ...settlement, outcome: 'sent', error: null };
  const error = storedErrorText(messageOf(thrown));
  if (thrown instanceof DeliveryRefused) return { ...settlement, outcome: 'dead', error };
  if (isUnavailable(thrown)) return { ...settlement, outcome: 'released', error };
  return { ...settlement, outcome: 'failed', error, delaySeconds: retryDelaySeconds(attempts) };
}

/** A database that a message needs counts like the channel's own server. */
function isUnavailable(thrown: unknown): boolean {
  return thrown instanceof ChannelUnavailable || isAppError(thrown, 'SERVICE_UNAVAILABLE');
}

/** Only the user of this process can read it, because it contains codes and links. Creates the folders up to the data folder. */
export async function writeFileAtomically(file: string, content: Parameters<typeof writeFile>[1]): Promise<void> {
  const folder = dirname(file);
  for (const path of [dirname(dirname(folder)), dirname(folder), folder]) await makeFolder(path);
  const partial = `${file}.${process.pid}`;
  await writeFile(partial, content, { mode: 0o600, flush: true });
  await rename(partial, file);
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

/** Results are stored soon after PostgreSQL is back: then another process could claim a delivery whose lease has ended. */
const RETRY_MS = 500;
/** After shutdown another process finds the lease expired and sends again, so longer retries would only delay the shutdown. */
const SHUTDOWN_ATTEMPTS = 10;

/** Stores results of attempts in batches: results that arrive during a write go into the next one. */
export class SettlementWriter {
  #waiting: Settlement[] = [];
  #writing: Promise<void> | undefined;
  #attemptsLeft = Infinity;

  constructor(
    private readonly write: (batch: readonly Settlement[]) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#writing ??= this.#writeAll();
  }

  async stop(): Promise<void> {
    this.#attemptsLeft = SHUTDOWN_ATTEMPTS;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && this.#attemptsLeft > 0) {
      const batch = this.#waiting.splice(0);
      await this.write(batch).catch(async (error: unknown) => {
        this.#waiting.unshift(...batch);
        this.#attemptsLeft -= 1;
        this.logger.warn(
          `the results of ${batch.length} deliveries could not be stored, retrying: ${messageOf(error)}`,
        );
        await sleep(RETRY_MS);
      });
    }
    this.#writing = undefined;
  }
}
