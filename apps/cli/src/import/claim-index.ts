import type { CompletedField, ImportedObject, ImportObjectsRequest } from '#contracts';
import { ClaimTable, EMPTY } from './claim-table.js';
import { ObjectList } from './object-list.js';

/** The value is free: its object has given it up. */
const RELEASED = 0xffff_ffff;

/** An object that a batch would store. */
interface StoredObject {
  readonly object: ImportedObject;
  readonly claims: readonly string[];
  readonly lacks?: readonly CompletedField[] | undefined;
}

/**
 * The state that a preview's earlier batches would have left in the database: the objects, and the values that they would have. It takes about
 * 110 bytes for each user.
 */
export class ClaimIndex {
  /** The number of the object by claim. */
  readonly #claims = new ClaimTable();
  readonly #objects = new ObjectList();

  /** The id of the object that would have the value; null: it would be free; undefined: no earlier batch has named it. */
  owner(claim: string): string | null | undefined {
    const number = this.#claims.get(claim);
    if (number === EMPTY) return undefined;
    return number === RELEASED ? null : this.#objects.idOf(number);
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
      return number === EMPTY
        ? []
        : [{ objectId, ...this.#objects.timesOf(number), lacks: this.#objects.lacksOf(number) }];
    });
    return { owners: Object.fromEntries(owners), objects: known };
  }

  /**
   * Notes that the objects of a batch would be stored, each with these values and no others; another copy of a known version adds its own.
   * @param released the values that the service has seen the batch give up. It does not know whether an object of an earlier batch has taken
   * one of them: that object keeps it
   */
  store(objects: readonly StoredObject[], released: readonly string[]): void {
    const known = new Map<number, { readonly hasToken: boolean }>();
    for (const { object } of objects) {
      const number = this.#numberOf(object.objectId);
      if (number === EMPTY || this.#objects.isVersion(number, object)) continue;
      known.set(number, { hasToken: object.sessionToken !== undefined });
    }
    if (known.size > 0) this.#releaseAll(known);
    const numbers = new Set([EMPTY]);
    for (const { object, claims, lacks = [] } of objects) {
      const number = this.#add(object);
      this.#objects.setLacks(number, lacks);
      numbers.add(number);
      for (const claim of claims) this.#claims.set(claim, number);
    }
    for (const claim of released) if (numbers.has(this.#claims.get(claim))) this.#claims.set(claim, RELEASED);
  }

  #add(object: ImportedObject): number {
    const { objectId } = object;
    const known = this.#numberOf(objectId);
    const number = known === EMPTY ? this.#objects.add(objectId) : known;
    this.#objects.setTimes(number, object);
    if (known === EMPTY) this.#claims.set(objectClaim(objectId), number);
    return number;
  }

  /** One pass for all replaced objects of a batch: no list of each object's values is kept. */
  #releaseAll(replaced: ReadonlyMap<number, { readonly hasToken: boolean }>): void {
    this.#claims.replaceNumbers((number, isToken) => {
      const object = replaced.get(number);
      return object === undefined || (isToken && !object.hasToken) ? number : RELEASED;
    });
    for (const number of replaced.keys()) this.#claims.set(objectClaim(this.#objects.idOf(number)), number);
  }

  #numberOf(objectId: string): number {
    return this.#claims.get(objectClaim(objectId));
  }
}

/** No field has an empty name. */
function objectClaim(objectId: string): string {
  return ` ${objectId}`;
}
