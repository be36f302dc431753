import { COMPLETED_FIELDS, type CompletedField, type ImportedObject } from '#contracts';

/** Lists grow by pages, so that nothing is copied. */
const PAGE_ENTRIES = 16_384;
const PAGE_BYTES = 262_144;
/** Hexadecimal ids, as those of LeanCloud, take half a byte a digit. */
const HEX = /^(?:[0-9a-f]{2})+$/;
const HEX_BIT = 0x80;
/** Beside the bits of missing fields: what a version no longer has. */
const [VALUES_GIVEN_UP, TOKEN_GIVEN_UP] = [0x40, 0x80];

/** Ids, times and missing fields of versions of objects, numbered from 1: about 38 bytes each. */
export class ObjectList {
  readonly #ids = new IdPages();
  readonly #places = new NumberPages(Uint32Array);
  readonly #createdAt = new NumberPages(Float64Array);
  readonly #updatedAt = new NumberPages(Float64Array);
  readonly #bits = new NumberPages(Uint8Array);
  /** The version, of the same object, that had the session token of this one. */
  readonly #tokenFrom = new NumberPages(Uint32Array);
  #length = 0;

  add(objectId: string): number {
    return this.#addAt(this.#ids.add(objectId));
  }

  /** Adds a version, which has the session token of the known one. That one gives up the other values. */
  addVersion(known: number): number {
    const number = this.#addAt(this.#places.at(known - 1));
    this.#tokenFrom.set(number - 1, this.#tokenFrom.at(known - 1));
    this.#mark(known, VALUES_GIVEN_UP);
    return number;
  }

  /** The version has another session token than the object had before. */
  replaceToken(number: number): void {
    const former = this.#tokenFrom.at(number - 1);
    if (former !== 0 && former !== number) this.#mark(former, TOKEN_GIVEN_UP);
    this.#tokenFrom.set(number - 1, number);
  }

  hasGivenUp(number: number, isToken: boolean): boolean {
    return (this.#bits.at(number - 1) & (isToken ? TOKEN_GIVEN_UP : VALUES_GIVEN_UP)) !== 0;
  }

  setTimes(number: number, { createdAt, updatedAt }: Pick<ImportedObject, 'createdAt' | 'updatedAt'>): void {
    this.#createdAt.set(number - 1, Date.parse(createdAt));
    this.#updatedAt.set(number - 1, Date.parse(updatedAt));
  }

  isVersion(number: number, { updatedAt }: Pick<ImportedObject, 'updatedAt'>): boolean {
    return this.#updatedAt.at(number - 1) === Date.parse(updatedAt);
  }

  setLacks(number: number, lacks: readonly CompletedField[]): void {
    let bits = this.#bits.at(number - 1) & (VALUES_GIVEN_UP | TOKEN_GIVEN_UP);
    for (const field of lacks) bits |= 1 << COMPLETED_FIELDS.indexOf(field);
    this.#bits.set(number - 1, bits);
  }

  lacksOf(number: number): CompletedField[] {
    const bits = this.#bits.at(number - 1);
    return COMPLETED_FIELDS.filter((_, place) => (bits & (1 << place)) !== 0);
  }

  idOf(number: number): string {
    return this.#ids.at(this.#places.at(number - 1));
  }

  timesOf(number: number): { createdAt: string; updatedAt: string } {
    return {
      createdAt: new Date(this.#createdAt.at(number - 1)).toISOString(),
      updatedAt: new Date(this.#updatedAt.at(number - 1)).toISOString(),
    };
  }

  #addAt(place: number): number {
    this.#places.set(this.#length, place);
    this.#length += 1;
    return this.#length;
  }

  #mark(number: number, bit: number): void {
    this.#bits.set(number - 1, this.#bits.at(number - 1) | bit);
  }
}

type PageType = Uint8ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor;

class NumberPages {
  readonly #pages: InstanceType<PageType>[] = [];

  constructor(private readonly Page: PageType) {}

  at(index: number): number {
    return this.#pages[Math.floor(index / PAGE_ENTRIES)]?.[index % PAGE_ENTRIES] ?? 0;
  }

  set(index: number, value: number): void {
    const page = (this.#pages[Math.floor(index / PAGE_ENTRIES)] ??= new this.Page(PAGE_ENTRIES));
    page[index % PAGE_ENTRIES] = value;
  }
}

/** Ids one after the other, each behind its length in a byte. They are ASCII of at most 64 characters. */
class IdPages {
  readonly #pages: Buffer[] = [];
  #free = PAGE_BYTES;

  add(objectId: string): number {
    const isHex = HEX.test(objectId);
    const bytes = Buffer.from(objectId, isHex ? 'hex' : 'latin1');
    if (this.#free + bytes.length >= PAGE_BYTES) {
      this.#pages.push(Buffer.alloc(PAGE_BYTES));
      this.#free = 0;
    }
    const page = this.#pages.at(-1);
    const place = (this.#pages.length - 1) * PAGE_BYTES + this.#free;
    page?.writeUInt8(isHex ? bytes.length | HEX_BIT : bytes.length, this.#free);
    page?.set(bytes, this.#free + 1);
    this.#free += bytes.length + 1;
    return place;
  }

  at(place: number): string {
    const start = (place % PAGE_BYTES) + 1;
    const page = this.#pages[Math.floor(place / PAGE_BYTES)];
    const head = page?.[start - 1] ?? 0;
    return page?.toString(head >= HEX_BIT ? 'hex' : 'latin1', start, start + (head & ~HEX_BIT)) ?? '';
  }
}
