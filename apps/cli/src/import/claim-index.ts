import { createHash } from 'node:crypto';
import type { ImportedObject, ImportObjectsRequest } from '#contracts';
import { isTokenClaim } from '#objects';

const INITIAL_SLOTS = 1 << 12;
const MAX_LOAD = 0.66;
/** Slots hold the number of an object from 1; 0: the slot is empty. */
const EMPTY = 0;
/** The value is free: its object has given it up. */
const RELEASED = 0xffff_ffff;
const TOKEN_BIT = 0x8000_0000;

/**
 * The state that a preview's earlier batches would have left in the database: the objects, and the values that they would have. It takes about
 * 130 bytes for each user. Values are kept as 63-bit hashes; that two of ten million are equal has a probability of 1 in 180,000.
 */
export class ClaimIndex {
  #high = new Uint32Array(INITIAL_SLOTS);
  #low = new Uint32Array(INITIAL_SLOTS);
  #owners = new Uint32Array(INITIAL_SLOTS);
  #used = 0;
  readonly #ids: string[] = [];
  readonly #createdAt: number[] = [];
  readonly #updatedAt: number[] = [];

  /** The id of the object that would have the value; null: it would be free; undefined: no earlier batch has named it. */
  owner(claim: string): string | null | undefined {
    const number = this.#owners[this.#slotOf(...hashed(claim))] ?? EMPTY;
    if (number === EMPTY) return undefined;
    return number === RELEASED ? null : (this.#ids[number - 1] ?? null);
  }

  has(objectId: string): boolean {
    return this.#numberOf(objectId) !== EMPTY;
  }

  /** The state by which a service judges a batch as if the earlier ones were stored. */
  earlier(objects: readonly ImportedObject[], claims: readonly string[]): NonNullable<ImportObjectsRequest['earlier']> {
    const owners = claims.flatMap((claim): [string, string | null][] => {
      const owner = this.owner(claim);
      return owner === undefined ? [] : [[claim, owner]];
    });
    const known = [...new Set(objects.map(({ objectId }) => objectId))].flatMap((objectId) => {
      const number = this.#numberOf(objectId);
      return number === EMPTY ? [] : [{ objectId, ...this.#timesOf(number) }];
    });
    return { owners: Object.fromEntries(owners), objects: known };
  }

  /**
   * Notes that the objects of a batch would be stored, each with these values and no others.
   * @param released the values that the service has seen the batch give up. It does not know whether an object of an earlier batch has taken
   * one of them: that object keeps it
   */
  store(
    objects: readonly { readonly object: ImportedObject; readonly claims: readonly string[] }[],
    released: readonly string[],
  ): void {
    const known = new Map(
      objects.map(({ object }) => [this.#numberOf(object.objectId), { hasToken: object.sessionToken !== undefined }]),
    );
    known.delete(EMPTY);
    if (known.size > 0) this.#releaseAll(known);
    const numbers = new Set([EMPTY]);
    for (const { object, claims } of objects) {
      const number = this.#add(object);
      numbers.add(number);
      for (const claim of claims) this.#set(claim, number);
    }
    for (const claim of released)
      if (numbers.has(this.#owners[this.#slotOf(...hashed(claim))] ?? EMPTY)) this.#set(claim, RELEASED);
  }

  #add({ objectId, createdAt, updatedAt }: ImportedObject): number {
    const known = this.#numberOf(objectId);
    const number = known === EMPTY ? this.#ids.push(objectId) : known;
    this.#createdAt[number - 1] = Date.parse(createdAt);
    this.#updatedAt[number - 1] = Date.parse(updatedAt);
    if (known === EMPTY) this.#set(objectClaim(objectId), number);
    return number;
  }

  /** One pass for all replaced objects of a batch: no list of each object's values is kept. */
  #releaseAll(replaced: ReadonlyMap<number, { readonly hasToken: boolean }>): void {
    const own = new Set([...replaced.keys()].map((number) => this.#slotOf(...hashed(objectClaim(this.#idOf(number))))));
    for (let slot = 0; slot < this.#owners.length; slot += 1) {
      const object = replaced.get(this.#owners[slot] ?? EMPTY);
      const isKept = object === undefined || own.has(slot) || (!object.hasToken && isTokenHash(this.#high[slot] ?? 0));
      if (!isKept) this.#owners[slot] = RELEASED;
    }
  }

  #idOf(number: number): string {
    return this.#ids[number - 1] ?? '';
  }

  #numberOf(objectId: string): number {
    return this.#owners[this.#slotOf(...hashed(objectClaim(objectId)))] ?? EMPTY;
  }

  #timesOf(number: number): { createdAt: string; updatedAt: string } {
    return {
      createdAt: new Date(this.#createdAt[number - 1] ?? 0).toISOString(),
      updatedAt: new Date(this.#updatedAt[number - 1] ?? 0).toISOString(),
    };
  }

  #set(claim: string, number: number): void {
    if (this.#used > this.#owners.length * MAX_LOAD) this.#grow();
    const [high, low] = hashed(claim);
    const slot = this.#slotOf(high, low);
    if (this.#owners[slot] === EMPTY) this.#used += 1;
    this.#high[slot] = high;
    this.#low[slot] = low;
    this.#owners[slot] = number;
  }

  /** The slot of the hash, or the empty one where it belongs. */
  #slotOf(high: number, low: number): number {
    const mask = this.#owners.length - 1;
    let slot = low & mask;
    while (this.#owners[slot] !== EMPTY && !(this.#low[slot] === low && this.#high[slot] === high))
      slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [highs, lows, owners] = [this.#high, this.#low, this.#owners];
    const size = owners.length * 2;
    this.#high = new Uint32Array(size);
    this.#low = new Uint32Array(size);
    this.#owners = new Uint32Array(size);
    for (const [index, number] of owners.entries()) {
      if (number === EMPTY) continue;
      const [high = 0, low = 0] = [highs[index], lows[index]];
      const slot = this.#slotOf(high, low);
      this.#high[slot] = high;
      this.#low[slot] = low;
      this.#owners[slot] = number;
    }
  }
}

/** No field has an empty name. */
function objectClaim(objectId: string): string {
  return ` ${objectId}`;
}

/** The first bit says whether the claim is a session token. */
function hashed(claim: string): [high: number, low: number] {
  const digest = createHash('sha1').update(claim).digest();
  const high = digest.readUInt32LE(0) & ~TOKEN_BIT;
  return [(isTokenClaim(claim) ? high | TOKEN_BIT : high) >>> 0, digest.readUInt32LE(4)];
}

function isTokenHash(high: number): boolean {
  return (high & TOKEN_BIT) !== 0;
}
