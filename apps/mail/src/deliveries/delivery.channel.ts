import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError, messageOf } from '#errors';
import {
  type ChannelName,
  type ClaimedRow,
  type Delivery,
  keptError,
  retryDelaySeconds,
  type Settlement,
} from './delivery.rules.js';

/** Who carries deliveries of one sort to the server behind it. `DeliverySender.register` puts it to work. */
export abstract class DeliveryChannel {
  abstract readonly channel: ChannelName;
  /** How many it sends at once. */
  readonly parallel: number = 4;

  /**
   * Resolves once the message is with the server. It may come again with the same id, where we could not note that.
   * @throws DeliveryRefused, ChannelAway, or anything else, which means: try this one again later
   */
  abstract send(delivery: Delivery): Promise<void>;
}

/** The server will never take this message: trying again is of no use. */
export class DeliveryRefused extends Error {
  override readonly name = 'DeliveryRefused';
}

/** The server is out of reach for every message: the channel pauses, and the message keeps its attempts. */
export class ChannelAway extends Error {
  override readonly name = 'ChannelAway';
}

/** What an attempt comes to. @param thrown by the channel, undefined where the message is with its server */
export function settlementOf(
  { id, lease, attempts }: Pick<ClaimedRow, 'id' | 'lease' | 'attempts'>,
  thrown: unknown,
): Settlement {
  const settlement = { id, lease, delaySeconds: 0 };
  if (thrown === undefined) return { ...settlement, outcome: 'sent', error: null };
  const error = keptError(messageOf(thrown));
  if (thrown instanceof DeliveryRefused) return { ...settlement, outcome: 'dead', error };
  if (isAway(thrown)) return { ...settlement, outcome: 'released', error };
  return { ...settlement, outcome: 'failed', error, delaySeconds: retryDelaySeconds(attempts) };
}

/** A database that cannot be asked for what a message needs is as far away as the channel's own server. */
function isAway(thrown: unknown): boolean {
  return thrown instanceof ChannelAway || (thrown instanceof AppError && thrown.is('SERVICE_UNAVAILABLE'));
}

/**
 * Writes a file that appears whole, for us alone: what we write holds codes and links. Its folder, that above it, and the data
 * folder are made where they are not there.
 */
export async function writeWhole(file: string, content: Parameters<typeof writeFile>[1]): Promise<void> {
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
