import * as bson from 'bson';
import type { JsonObject, JsonValue } from '#contracts';
import type { ReadRow, RowReader } from './export.types.js';
import { MAX_DEPTH, type Parsed, PROTOTYPE, RowBytes, TOO_DEEP, TOO_LONG, TRUNCATED } from './json-rows.js';

/** MongoDB's limit of a stored document: 16 MiB, and 16 KiB for its own fields. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024 + 16 * 1024;
const SIZE_BYTES = 4;
const EMPTY_DOCUMENT_BYTES = 5;
const INVALID = 'The BSON document is not valid. Take the backup again.';
const LOST = 'The file is not BSON from here on, and the rest is not read. Take the backup again.';
const DATE_RANGE = 'The BSON document has a time out of range. Correct it in the database and take the backup again.';
/** Helper fields of LeanCloud's ACL queries. */
const DROPPED = new Set(['_r', '_w']);
const BARE_TIMES = new Set(['createdAt', 'updatedAt']);
const OPTIONS = { promoteBuffers: false, bsonRegExp: true, useBigInt64: false } as const;

class DocumentProblem extends Error {}

export class BsonReader implements RowReader {
  readonly #bytes = new RowBytes(MAX_DOCUMENT_BYTES);
  #number = 1;
  #size: number | undefined;
  #skipping = 0;
  #isLost = false;

  *push(chunk: Buffer): Iterable<ReadRow> {
    let offset = 0;
    while (offset < chunk.length && !this.#isLost) {
      const wanted = this.#skipping > 0 ? this.#skipping : (this.#size ?? SIZE_BYTES) - this.#bytes.length;
      const piece = chunk.subarray(offset, offset + wanted);
      offset += piece.length;
      const row = this.#take(piece, wanted);
      if (row !== undefined) yield row;
    }
  }

  *end(failure?: string): Iterable<ReadRow> {
    const isCut = !this.#isLost && (this.#bytes.length > 0 || this.#skipping > 0);
    if (isCut || failure !== undefined) yield { line: this.#number, problem: failure ?? TRUNCATED };
  }

  #take(piece: Buffer, wanted: number): ReadRow | undefined {
    if (this.#skipping > 0) {
      this.#skipping -= piece.length;
      return undefined;
    }
    this.#bytes.push(piece);
    if (piece.length < wanted) return undefined;
    return this.#size === undefined ? this.#begin() : this.#complete();
  }

  #begin(): ReadRow | undefined {
    const head = this.#bytes.take();
    const size = head.readInt32LE(0);
    if (size < EMPTY_DOCUMENT_BYTES) {
      this.#isLost = true;
      return { line: this.#number, problem: LOST };
    }
    if (size > MAX_DOCUMENT_BYTES) {
      this.#skipping = size - SIZE_BYTES;
      return { line: this.#number++, problem: TOO_LONG };
    }
    this.#size = size;
    this.#bytes.push(head);
    return undefined;
  }

  #complete(): ReadRow {
    this.#size = undefined;
    return { line: this.#number++, ...parseDocument(this.#bytes.take()) };
  }
}

export function parseDocument(bytes: Buffer): Parsed {
  let document: bson.Document;
  try {
    document = bson.deserialize(bytes, OPTIONS);
  } catch {
    // A RangeError where documents nest too deep, else a BSONError; both leave the process intact.
    return { problem: INVALID };
  }
  try {
    return { row: rowOf(document) };
  } catch (error) {
    if (error instanceof DocumentProblem) return { problem: error.message };
    throw error;
  }
}

function rowOf(document: bson.Document): JsonObject {
  const row: JsonObject = {};
  for (const [key, value] of Object.entries(document) as [string, unknown][]) {
    if (key === '__proto__') throw new DocumentProblem(PROTOTYPE);
    if (key === '_id') row['objectId'] = idOf(value);
    else if (BARE_TIMES.has(key) && value instanceof Date) row[key] = isoOf(value);
    else if (!DROPPED.has(key)) row[key] = valueOf(value, 1);
  }
  return row;
}

function valueOf(value: unknown, depth: number): JsonValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  return structureOf(value, depth);
}

function structureOf(value: unknown, depth: number): JsonValue {
  if (depth >= MAX_DEPTH) throw new DocumentProblem(TOO_DEEP);
  if (Array.isArray(value)) return value.map((member) => valueOf(member, depth + 1));
  if (value instanceof Date) return { __type: 'Date', iso: isoOf(value) };
  // BSON types inherit the member; an own field of that name is data.
  const isTyped = '_bsontype' in (value as object) && !Object.hasOwn(value as object, '_bsontype');
  return isTyped ? typedValueOf(value as TypedValue) : objectOf(value as object, depth);
}

type TypedValue =
  | bson.ObjectId
  | bson.DBRef
  | bson.Binary
  | bson.Long
  | bson.Int32
  | bson.Double
  | bson.Decimal128
  | bson.Timestamp
  | bson.BSONRegExp
  | bson.BSONSymbol
  | bson.Code
  | bson.MinKey
  | bson.MaxKey;

type ValueOf<Name extends TypedValue['_bsontype']> = Extract<TypedValue, { readonly _bsontype: Name }>;

const CONVERTERS: { readonly [Name in TypedValue['_bsontype']]: (value: ValueOf<Name>) => JsonValue } = {
  ObjectId: (value) => value.toHexString(),
  DBRef: ({ collection, oid }) => ({ __type: 'Pointer', className: collection, objectId: idOf(oid) }),
  Binary: (value) => ({ __type: 'Bytes', base64: value.toString('base64') }),
  Long: (value) => value.toNumber(),
  Int32: (value) => value.valueOf(),
  Double: (value) => value.valueOf(),
  Decimal128: (value) => Number(value.toString()),
  Timestamp: ({ t: seconds }) => ({ __type: 'Date', iso: isoOf(new Date(seconds * 1_000)) }),
  BSONRegExp: ({ pattern }) => pattern,
  BSONSymbol: ({ value }) => value,
  Code: ({ code }) => code,
  MinKey: () => null,
  MaxKey: () => null,
};

function typedValueOf<Name extends TypedValue['_bsontype']>(value: ValueOf<Name>): JsonValue {
  const name: Name = value._bsontype;
  return CONVERTERS[name](value);
}

function objectOf(value: object, depth: number): JsonValue {
  const point = geoPointOf(value);
  if (point !== undefined) return point;
  const object: JsonObject = {};
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (key === '__proto__') throw new DocumentProblem(PROTOTYPE);
    object[key] = valueOf(member, depth + 1);
  }
  return object;
}

/** GeoJSON holds the longitude first. */
function geoPointOf(value: object): JsonObject | undefined {
  const { type, coordinates, ...others } = value as { type?: unknown; coordinates?: unknown };
  if (type !== 'Point' || !Array.isArray(coordinates) || coordinates.length !== 2) return undefined;
  const [longitude, latitude] = coordinates.map((number) => valueOf(number, MAX_DEPTH));
  if (typeof longitude !== 'number' || typeof latitude !== 'number' || Object.keys(others).length > 0) return undefined;
  return { __type: 'GeoPoint', latitude, longitude };
}

function idOf(value: unknown): JsonValue {
  return valueOf(value, 1);
}

function isoOf(time: Date): string {
  if (Number.isNaN(time.getTime())) throw new DocumentProblem(DATE_RANGE);
  return time.toISOString();
}
