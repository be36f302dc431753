import { COMPLETED_FIELDS, type CompletedField, type ImportedObject } from '#contracts';

/** Lists grow by pages, so that nothing is copied. */
const PAGE_ENTRIES = 16_384;
const PAGE_BYTES = 262_144;
/** Hexadecimal ids, as those of LeanCloud, take half a byte a digit. */
const HEX = /^(?:[0-9a-f]{2})+$/;
const HEX_BIT = 0x80;

/** Ids, times and missing fields of objects, numbered from 1: about 34 bytes each. */
export class ObjectList {
  readonly #ids = new IdPages();
  readonly #places = new NumberPages(Uint32Array);
  readonly #createdAt = new NumberPages(Float64Array);
  readonly #updatedAt = new NumberPages(Float64Array);
  readonly #lacks = new NumberPages(Uint8Array);
  #length = 0;

  add(objectId: string): number {
    this.#places.set(this.#length, this.#ids.add(objectId));
    this.#length += 1;
    return this.#length;
  }

  setTimes(number: number, { createdAt, updatedAt }: Pick<ImportedObject, 'createdAt' | 'updatedAt'>): void {
    this.#createdAt.set(number - 1, Date.parse(createdAt));
    this.#updatedAt.set(number - 1, Date.parse(updatedAt));
  }

  isVersion(number: number, { updatedAt }: Pick<ImportedObject, 'updatedAt'>): boolean {
    return this.#updatedAt.at(number - 1) === Date.parse(updatedAt);
  }

  setLacks(number: number, lacks: readonly CompletedField[]): void {
    let bits = 0;
    for (const field of lacks) bits |= 1 << COMPLETED_FIELDS.indexOf(field);
    this.#lacks.set(number - 1, bits);
  }

  lacksOf(number: number): CompletedField[] {
    const bits = this.#lacks.at(number - 1);
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
