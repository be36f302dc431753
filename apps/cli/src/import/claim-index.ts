import { hash } from 'node:crypto';
import type { CompletedField, ImportedObject, ImportObjectsRequest } from '#contracts';
import { isTokenClaim } from '#objects';
import { ObjectList } from './object-list.js';

/** Segments grow one at a time, so that only a part of the table exists twice meanwhile. */
const SEGMENTS = 64;
const INITIAL_SLOTS = 64;
const MAX_LOAD = 0.85;
const GROWTH = 1.25;
const SLOT_WORDS = 3;
const [LOW, NUMBER] = [1, 2];
export const EMPTY = 0;
const WORD_VALUES = 2 ** 32;

/** Numbers texts from 1, as 64-bit hashes of 14 to 18 bytes an entry. Two of ten million are equal with a probability of 1 in 370,000. */
export class ClaimTable {
  /** Of different sizes: equal ones would all grow at the same time. */
  readonly #segments = Array.from(
    { length: SEGMENTS },
    (_, index) => new Segment(Math.ceil(INITIAL_SLOTS * GROWTH ** (index / SEGMENTS))),
  );

  get(text: string): number {
    const key = keyOf(text);
    return this.#segmentOf(key).get(key);
  }

  set(text: string, number: number): void {
    const key = keyOf(text);
    this.#segmentOf(key).set(key, number);
  }

  add(text: string): boolean {
    if (this.get(text) !== EMPTY) return false;
    this.set(text, 1);
    return true;
  }

  #segmentOf([high]: Key): Segment {
    const segment = this.#segments[high % SEGMENTS];
    if (segment === undefined) throw new Error('the table has no such segment');
    return segment;
  }
}

type Key = readonly [high: number, low: number];

class Segment {
  #words: Uint32Array;
  #used = 0;

  constructor(slots: number) {
    this.#words = new Uint32Array(slots * SLOT_WORDS);
  }

  get(key: Key): number {
    return this.#words[this.#placeOf(key) + NUMBER] ?? EMPTY;
  }

  set(key: Key, number: number): void {
    if ((this.#used + 1) * SLOT_WORDS > this.#words.length * MAX_LOAD) this.#grow();
    if (this.get(key) === EMPTY) this.#used += 1;
    this.#put(key, number);
  }

  #put(key: Key, number: number): void {
    const place = this.#placeOf(key);
    [this.#words[place], this.#words[place + LOW]] = key;
    this.#words[place + NUMBER] = number;
  }

  #placeOf([high, low]: Key): number {
    const words = this.#words;
    let place = Math.floor(((words.length / SLOT_WORDS) * low) / WORD_VALUES) * SLOT_WORDS;
    while (words[place + NUMBER] !== EMPTY && !(words[place + LOW] === low && words[place] === high)) {
      place += SLOT_WORDS;
      if (place === words.length) place = 0;
    }
    return place;
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Uint32Array(Math.ceil((before.length / SLOT_WORDS) * GROWTH) * SLOT_WORDS);
    for (let from = 0; from < before.length; from += SLOT_WORDS) {
      const number = before[from + NUMBER] ?? EMPTY;
      if (number !== EMPTY) this.#put([before[from] ?? 0, before[from + LOW] ?? 0], number);
    }
  }
}

/** The object has given up the value. */
const RELEASED = 0xffff_ffff;

interface StoredObject {
  readonly object: ImportedObject;
  readonly claims: readonly string[];
  readonly lacks?: readonly CompletedField[] | undefined;
}

/** The state that earlier batches of a preview would have left in the database. About 115 bytes for each version of a user. */
export class ClaimIndex {
  readonly #claims = new ClaimTable();
  readonly #objects = new ObjectList();

  /** Null: the value would be free; undefined: no earlier batch has named it. */
  owner(claim: string): string | null | undefined {
    const number = this.#claims.get(claim);
    if (number === EMPTY) return undefined;
    if (number === RELEASED || this.#objects.hasGivenUp(number, isTokenClaim(claim))) return null;
    return this.#objects.idOf(number);
  }

  has(objectId: string): boolean {
    return this.#numberOf(objectId) !== EMPTY;
  }

  earlier(objects: readonly ImportedObject[], claims: readonly string[]): NonNullable<ImportObjectsRequest['earlier']> {
    const owners = claims.flatMap((claim): [string, string | null][] => {
      const owner = this.owner(claim);
      return owner === undefined ? [] : [[claim, owner]];
    });
    const known = [...new Set(objects.map(({ objectId }) => objectId))].flatMap((objectId) => {
      const number = this.#numberOf(objectId);
      return number === EMPTY
        ? []
        : [{ objectId, ...this.#objects.timesOf(number), lacks: this.#objects.lacksOf(number) }];
    });
    return { owners: Object.fromEntries(owners), objects: known };
  }

  /** Records exactly the values that a batch would store. @param released values that it gave up; those that an earlier batch took since stay taken */
  store(objects: readonly StoredObject[], released: readonly string[]): void {
    const numbers = new Set([EMPTY]);
    for (const { object, claims, lacks = [] } of objects) {
      const number = this.#numberFor(object);
      this.#objects.setLacks(number, lacks);
      numbers.add(number);
      for (const claim of claims) this.#claims.set(claim, number);
    }
    for (const claim of released) if (numbers.has(this.#claims.get(claim))) this.#claims.set(claim, RELEASED);
  }

  /** A new version gives up all values, but the session token only if another one follows. It has a number of its own, so that no list of values per object is kept. */
  #numberFor(object: ImportedObject): number {
    const known = this.#numberOf(object.objectId);
    const number = known !== EMPTY && this.#objects.isVersion(known, object) ? known : this.#add(object, known);
    const lacksToken = number !== known || this.#objects.lacksOf(number).includes('sessionToken');
    if (lacksToken && object.sessionToken !== undefined) this.#objects.replaceToken(number);
    return number;
  }

  #add(object: ImportedObject, known: number): number {
    const { objectId, isCreationUnknown = false } = object;
    const number = known === EMPTY ? this.#objects.add(objectId) : this.#objects.addVersion(known);
    const creation = isCreationUnknown && known !== EMPTY ? this.#objects.timesOf(known) : object;
    this.#objects.setTimes(number, { createdAt: creation.createdAt, updatedAt: object.updatedAt });
    this.#claims.set(objectClaim(objectId), number);
    return number;
  }

  #numberOf(objectId: string): number {
    return this.#claims.get(objectClaim(objectId));
  }
}

function objectClaim(objectId: string): string {
  return ` ${objectId}`;
}

function keyOf(text: string): Key {
  const digest = hash('sha1', text, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

/** Not every copy of a user in an export has them. */
const USER_PARTS = ['password', 'sessionToken', 'identities'] as const;

/** The least difference of two versions, and the time from which they are numbered. */
const VERSION_MS = 4_000;
const FIRST_VERSION = Date.parse('2010-01-01T00:00:00.000Z');
const [PART_VALUES, MAX_VERSION] = [2 ** 4, 2 ** 28 - 1];

/** The objects of a class in an export: which parts of users, and which newest version. */
export class ExportedObjects {
  readonly counts = { objects: 0, password: 0, sessionToken: 0, identities: 0 };
  /** By id, four bits: one that is always set, and one for each part. Above them the newest version. */
  readonly #found = new ClaimTable();

  add(object: ImportedObject): boolean {
    const before = this.#found.get(object.objectId);
    const bits = this.#withParts(object, before % PART_VALUES);
    const version = Math.max(versionOf(object.updatedAt), Math.floor(before / PART_VALUES));
    const number = version * PART_VALUES + bits;
    if (number !== before) this.#found.set(object.objectId, number);
    if (before === EMPTY) this.counts.objects += 1;
    return before === EMPTY;
  }

  /** Whether the export has a newer version of the object. False for one that is newer by seconds. */
  hasNewer(objectId: string, updatedAt: string): boolean {
    return Math.floor(this.#found.get(objectId) / PART_VALUES) > versionOf(updatedAt);
  }

  #withParts(user: ImportedObject, before: number): number {
    let bits = before | 1;
    for (const [place, part] of USER_PARTS.entries()) {
      const bit = 2 << place;
      if (user[part] === undefined || (bits & bit) !== 0) continue;
      bits |= bit;
      this.counts[part] += 1;
    }
    return bits;
  }
}

function versionOf(updatedAt: string): number {
  const version = Math.floor((Date.parse(updatedAt) - FIRST_VERSION) / VERSION_MS);
  return Math.min(MAX_VERSION, Math.max(0, version));
}
