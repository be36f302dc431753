import { crc32 } from 'node:zlib';

/** A device, as connections and queues know it. */
export interface DeviceAddress {
  readonly appId: string;
  readonly installationId: string;
}

/**
 * Devices are spread over so many partitions. Everything that Redis keeps of a device carries the hash tag of its
 * partition, so one script may move many devices of one partition, on a cluster too (ADR 21).
 */
export const PARTITIONS = 64;

/** Stays the same for ever: queues and the column `partition` are found by it. */
export function partitionOf({ appId, installationId }: DeviceAddress): number {
  return crc32(`${appId}:${installationId}`) % PARTITIONS;
}

/** Stands behind every position in a partition: object ids are letters, digits, `-` and `_`, and are compared by their bytes. */
export const BEHIND_ALL = '~';
