import { isUtf8 } from 'node:buffer';
import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import type { ReadRow, RowReader } from './export.types.js';

/** LeanCloud's rows end at MongoDB's limit of a document, 16 MiB. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;
export const MAX_DEPTH = 64;

export const TOO_LONG = 'The row is longer than 16 MiB. Shorten it in the export.';
export const TOO_DEEP = 'The row nests objects and lists more than 64 levels deep. Flatten it in the export.';
export const PROTOTYPE = 'The row has a key __proto__. Remove the key in the export.';
const NOT_UTF8 = 'The row is not valid UTF-8. Save the file as UTF-8.';
const NOT_JSON = 'The row is not valid JSON. Export the class again.';
const NOT_OBJECT = 'The row is not a JSON object. Export the class again.';
const NUL = 'The row contains a NUL byte. Export the class again.';
export const TRUNCATED = 'The file ends within this row: it is truncated. Export the class again.';

/** A shorter row cannot nest so deeply that parsing costs much memory. */
const CHEAP_BYTES = 4_096;
const MAX_PIECES = 1_024;
export const BYTE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

export type Parsed = { readonly row: JsonObject } | { readonly problem: string };

export function parseRow(bytes: Buffer): Parsed {
  if (!isUtf8(bytes)) return { problem: NOT_UTF8 };
  if (bytes.includes(0)) return { problem: NUL };
  if (bytes.length > CHEAP_BYTES && isNestedTooDeep(bytes)) return { problem: TOO_DEEP };
  let value: JsonValue;
  try {
    value = JSON.parse(bytes.toString('utf8')) as JsonValue;
  } catch {
    return { problem: NOT_JSON };
  }
  if (!isJsonObject(value)) return { problem: NOT_OBJECT };
  const problem = problemWithin(value, 1);
  return problem === undefined ? { row: value } : { problem };
}

/** Finds keys that reach the prototype, and objects below `MAX_DEPTH`. */
function problemWithin(value: object, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  // JSON.parse makes it an own key, but a later copy by assignment would set the prototype.
  if (Object.hasOwn(value, '__proto__')) return PROTOTYPE;
  for (const member of Object.values(value) as unknown[]) {
    const problem = typeof member === 'object' && member !== null ? problemWithin(member, depth + 1) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isNestedTooDeep(bytes: Buffer): boolean {
  const scan = new JsonScan();
  for (const byte of bytes) {
    scan.step(byte);
    if (scan.depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Counts brackets byte by byte without comparing their kinds. */
export class JsonScan {
  depth = 0;
  isInString = false;
  #isEscaped = false;

  step(byte: number): void {
    if (this.isInString) this.#stepInString(byte);
    else if (byte === BYTE.quote) this.isInString = true;
    else if (byte === BYTE.openObject || byte === BYTE.openList) this.depth++;
    else if (byte === BYTE.closeObject || byte === BYTE.closeList) this.depth--;
  }

  #stepInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BYTE.backslash) this.#isEscaped = true;
    else if (byte === BYTE.quote) this.isInString = false;
  }
}

/** The bytes of one row from many chunks. Above the limit it counts bytes without keeping them. */
export class RowBytes {
  length = 0;
  #pieces: Buffer[] = [];

  constructor(private readonly limit: number) {}

  get isTooLong(): boolean {
    return this.length > this.limit;
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return;
    this.length += piece.length;
    if (this.isTooLong) this.#pieces = [];
    else this.#pieces.push(piece);
    if (this.#pieces.length > MAX_PIECES) this.#pieces = [Buffer.concat(this.#pieces)];
  }

  take(): Buffer {
    const [first, ...others] = this.#pieces;
    this.#pieces = [];
    this.length = 0;
    if (first === undefined) return Buffer.alloc(0);
    return others.length === 0 ? first : Buffer.concat([first, ...others]);
  }
}

export type ParseLine = (line: Buffer) => Parsed | undefined;

export class LineReader implements RowReader {
  #line = 0;
  readonly #bytes = new RowBytes(MAX_ROW_BYTES);

  constructor(private readonly parse: ParseLine) {}

  *push(chunk: Buffer): Iterable<ReadRow> {
    let start = 0;
    for (let end = chunk.indexOf(BYTE.lineFeed); end !== -1; end = chunk.indexOf(BYTE.lineFeed, start)) {
      const row = this.#complete(chunk.subarray(start, end));
      if (row !== undefined) yield row;
      start = end + 1;
    }
    this.#bytes.push(chunk.subarray(start));
  }

  *end(failure?: string): Iterable<ReadRow> {
    const hasRest = this.#bytes.length > 0;
    const row = hasRest ? this.#complete(Buffer.alloc(0)) : undefined;
    const isCut = row !== undefined && 'problem' in row && (row.problem === NOT_JSON || row.problem === NOT_UTF8);
    if (isCut) yield { line: this.#line, problem: failure ?? TRUNCATED };
    else if (row !== undefined) yield row;
    if (!isCut && failure !== undefined) yield { line: this.#line + 1, problem: failure };
  }

  #complete(rest: Buffer): ReadRow | undefined {
    this.#line++;
    const line = this.#line;
    if (this.#bytes.length === 0) return at(line, this.#parseLine(rest));
    this.#bytes.push(rest);
    if (!this.#bytes.isTooLong) return at(line, this.#parseLine(this.#bytes.take()));
    this.#bytes.take();
    return { line, problem: TOO_LONG };
  }

  #parseLine(line: Buffer): Parsed | undefined {
    const bytes = this.#line === 1 ? withoutMark(line) : line;
    return isBlank(bytes) ? undefined : this.parse(bytes);
  }
}

function at(line: number, parsed: Parsed | undefined): ReadRow | undefined {
  return parsed === undefined ? undefined : { line, ...parsed };
}

export function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function isBlank(bytes: Buffer): boolean {
  const first = bytes[0];
  if (first !== undefined && !isSpace(first)) return false;
  return bytes.every(isSpace);
}

export function isSpace(byte: number): boolean {
  return byte === BYTE.space || byte === BYTE.lineFeed || byte === BYTE.carriageReturn || byte === BYTE.tab;
}

const NOT_CLOSED = 'The file ends within its list of rows: it is truncated. Export the class again.';
/** A longer key is not the name of a class. */
const MAX_KEY_BYTES = 256;

/** Finds row boundaries and leaves the content to `parseRow`: a streaming parser would hold a row of any length and end at a broken one. */
export class ListReader implements RowReader {
  readonly #scan = new JsonScan();
  readonly #bytes = new RowBytes(MAX_ROW_BYTES);
  readonly #rowDepth: 1 | 2;
  #line = 1;
  #isListOpen = false;
  #rowLine: number | undefined;
  #start = 0;
  #finished: ReadRow | undefined;
  #key: string | undefined;
  #keyBytes: number[] = [];

  /** @param wantedKey the key of the list; undefined where the file itself is the list */
  constructor(private readonly wantedKey: string | undefined) {
    this.#rowDepth = wantedKey === undefined ? 1 : 2;
  }

  *push(chunk: Buffer): Iterable<ReadRow> {
    this.#start = 0;
    for (let index = 0; index < chunk.length; index++) {
      this.#step(chunk, index);
      if (this.#finished === undefined) continue;
      yield this.#finished;
      this.#finished = undefined;
    }
    if (this.#rowLine !== undefined) this.#bytes.push(chunk.subarray(this.#start));
  }

  *end(failure?: string): Iterable<ReadRow> {
    const isCut = this.#scan.depth > 0 || this.#scan.isInString;
    const problem = failure ?? (this.#rowLine === undefined ? NOT_CLOSED : TRUNCATED);
    if (isCut || failure !== undefined) yield { line: this.#rowLine ?? this.#line, problem };
  }

  #step(chunk: Buffer, index: number): void {
    const byte = chunk[index] ?? 0;
    if (this.#rowLine === undefined && this.#beginsRow(byte)) {
      this.#rowLine = this.#line;
      this.#start = index;
    }
    if (this.#rowLine === undefined) this.#stepBetween(byte);
    else this.#stepWithin(chunk, index, byte);
    if (byte === BYTE.lineFeed) this.#line++;
  }

  #beginsRow(byte: number): boolean {
    return this.#isListOpen && this.#scan.depth === this.#rowDepth && !isSeparator(byte);
  }

  #stepWithin(chunk: Buffer, index: number, byte: number): void {
    const isAtEdge = !this.#scan.isInString && this.#scan.depth === this.#rowDepth;
    if (isAtEdge && isSeparator(byte)) {
      // The row is a number, a text or a word, without the separator.
      this.#finish(chunk.subarray(this.#start, index));
      this.#stepBetween(byte);
      return;
    }
    this.#scan.step(byte);
    const isClosed = !this.#scan.isInString && (byte === BYTE.closeObject || byte === BYTE.closeList);
    if (isClosed && this.#scan.depth === this.#rowDepth) this.#finish(chunk.subarray(this.#start, index + 1));
  }

  #finish(rest: Buffer): void {
    this.#bytes.push(rest);
    const line = this.#rowLine ?? this.#line;
    const { isTooLong } = this.#bytes;
    const bytes = this.#bytes.take();
    this.#finished = { line, ...(isTooLong ? { problem: TOO_LONG } : parseRow(bytes)) };
    this.#rowLine = undefined;
  }

  #stepBetween(byte: number): void {
    const wasInString = this.#scan.isInString;
    this.#scan.step(byte);
    if (wasInString || this.#scan.isInString) this.#stepKey(byte, wasInString);
    else if (byte === BYTE.openList && this.#scan.depth === this.#rowDepth)
      this.#isListOpen = this.#key === this.wantedKey;
    else if (byte === BYTE.closeList && this.#scan.depth < this.#rowDepth) this.#isListOpen = false;
    else if (byte === BYTE.comma && this.#scan.depth === 1) this.#key = undefined;
  }

  #stepKey(byte: number, wasInString: boolean): void {
    if (this.#rowDepth === 1 || this.#scan.depth !== 1) return;
    if (!wasInString) this.#keyBytes = [];
    else if (!this.#scan.isInString) this.#key = Buffer.from(this.#keyBytes).toString('utf8');
    else if (this.#keyBytes.length < MAX_KEY_BYTES) this.#keyBytes.push(byte);
  }
}

function isSeparator(byte: number): boolean {
  return byte === BYTE.comma || byte === BYTE.closeList || byte === BYTE.closeObject || isSpace(byte);
}
