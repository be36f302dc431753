import type { ReadRow, RowReader } from './export.types.js';
import { BYTE, isSpace, JsonScan, MAX_ROW_BYTES, parseRow, RowBytes, TOO_LONG, TRUNCATED } from './json-rows.js';

const NOT_CLOSED = 'The file ends within its list of rows: it is truncated. Export the class again.';
/** A longer key is not the name of a class. */
const MAX_KEY_BYTES = 256;

/**
 * The rows of a JSON list, or of the list under one key of an object. It finds where each row begins and ends, and leaves its content to
 * `parseRow`: a streaming parser would hold a row of any length, and would end at the first broken row.
 */
export class ListReader implements RowReader {
  private readonly scan = new JsonScan();
  private readonly bytes = new RowBytes(MAX_ROW_BYTES);
  private readonly rowDepth: 1 | 2;
  private line = 1;
  private isListOpen = false;
  /** Where the current row began; undefined between rows. */
  private rowLine: number | undefined;
  /** Index of the current row's first byte in the current chunk. */
  private start = 0;
  private finished: ReadRow | undefined;
  private key: string | undefined;
  private keyBytes: number[] = [];

  /** @param wantedKey the key whose list holds the rows; undefined where the file itself is the list */
  constructor(private readonly wantedKey: string | undefined) {
    this.rowDepth = wantedKey === undefined ? 1 : 2;
  }

  *push(chunk: Buffer): Iterable<ReadRow> {
    this.start = 0;
    for (let index = 0; index < chunk.length; index++) {
      this.step(chunk, index);
      if (this.finished === undefined) continue;
      yield this.finished;
      this.finished = undefined;
    }
    if (this.rowLine !== undefined) this.bytes.push(chunk.subarray(this.start));
  }

  *end(failure?: string): Iterable<ReadRow> {
    const isCut = this.scan.depth > 0 || this.scan.isInString;
    const problem = failure ?? (this.rowLine === undefined ? NOT_CLOSED : TRUNCATED);
    if (isCut || failure !== undefined) yield { line: this.rowLine ?? this.line, problem };
  }

  private step(chunk: Buffer, index: number): void {
    const byte = chunk[index] ?? 0;
    if (this.rowLine === undefined && this.beginsRow(byte)) {
      this.rowLine = this.line;
      this.start = index;
    }
    if (this.rowLine === undefined) this.stepBetween(byte);
    else this.stepWithin(chunk, index, byte);
    if (byte === BYTE.lineFeed) this.line++;
  }

  private beginsRow(byte: number): boolean {
    return this.isListOpen && this.scan.depth === this.rowDepth && !isSeparator(byte);
  }

  private stepWithin(chunk: Buffer, index: number, byte: number): void {
    const isAtEdge = !this.scan.isInString && this.scan.depth === this.rowDepth;
    if (isAtEdge && isSeparator(byte)) {
      // The row is a number, a text or a word: the separator is not part of it.
      this.finish(chunk.subarray(this.start, index));
      this.stepBetween(byte);
      return;
    }
    this.scan.step(byte);
    const isClosed = !this.scan.isInString && (byte === BYTE.closeObject || byte === BYTE.closeList);
    if (isClosed && this.scan.depth === this.rowDepth) this.finish(chunk.subarray(this.start, index + 1));
  }

  private finish(rest: Buffer): void {
    this.bytes.push(rest);
    const line = this.rowLine ?? this.line;
    const { isTooLong } = this.bytes;
    const bytes = this.bytes.take();
    this.finished = { line, ...(isTooLong ? { problem: TOO_LONG } : parseRow(bytes)) };
    this.rowLine = undefined;
  }

  /** Follows the brackets around the rows, and the keys before them. */
  private stepBetween(byte: number): void {
    const wasInString = this.scan.isInString;
    this.scan.step(byte);
    if (wasInString || this.scan.isInString) this.stepKey(byte, wasInString);
    else if (byte === BYTE.openList && this.scan.depth === this.rowDepth) this.isListOpen = this.key === this.wantedKey;
    else if (byte === BYTE.closeList && this.scan.depth < this.rowDepth) this.isListOpen = false;
    else if (byte === BYTE.comma && this.scan.depth === 1) this.key = undefined;
  }

  private stepKey(byte: number, wasInString: boolean): void {
    if (this.rowDepth === 1 || this.scan.depth !== 1) return;
    if (!wasInString) this.keyBytes = [];
    else if (!this.scan.isInString) this.key = Buffer.from(this.keyBytes).toString('utf8');
    else if (this.keyBytes.length < MAX_KEY_BYTES) this.keyBytes.push(byte);
  }
}

/** A byte that cannot begin or continue a number, a text or a word. */
function isSeparator(byte: number): boolean {
  return byte === BYTE.comma || byte === BYTE.closeList || byte === BYTE.closeObject || isSpace(byte);
}
