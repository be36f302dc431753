import type { JsonObject } from '#contracts';
import type { Acl, CompiledCount, CompiledFind } from '#objects';
import type { Reading } from './reading.types.js';

/** A stored object that was read, not yet as anybody may see it. */
export interface ReadObject {
  readonly objectId: string;
  readonly acl: Acl | null;
  /** Its public JSON as this caller sees it. */
  present(reading: Reading): JsonObject;
}

/** Reads the objects of one class. */
export interface ObjectReader {
  find(query: CompiledFind): Promise<ReadObject[]>;
  count(query: CompiledCount): Promise<number>;
  findMany(appId: string, objectIds: readonly string[]): Promise<ReadObject[]>;
}
