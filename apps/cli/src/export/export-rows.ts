import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import { BsonReader } from './bson-rows.js';
import type { ReadRow, RowReader } from './export.types.js';
import { ListReader } from './json-lists.js';
import { LineReader, MAX_ROW_BYTES, type Parsed, parseRow, RowBytes, withoutMark } from './json-rows.js';
import { classOfHeader, type PartKind, type Reading } from './part-kinds.js';

const FOREIGN_ROWS =
  'From this line on the file holds rows of another class, which are not read. Split the file at this line.';
const NO_PAIR =
  'The row does not have exactly two columns, the id of the role and the id of its member. Correct the row.';
const NO_IDS = 'The row lacks owningId or relatedId, or one of them is no id. Correct the row.';
const TOO_LARGE = 'The file is longer than 16 MiB and is not read. Export the schema again.';
const EMPTY_CELL = /^[\s"]*$/;
const HEADER_CELL = /^(?:owner|owningId|role|member|relatedId|user|objectId)$/i;
const HEADER_MARK = Buffer.from('#');

/** The reader for a part's bytes. */
export function readerOf({ reading, kind }: PartKind): RowReader {
  const reader = plainReader(reading);
  return kind === 'relation' ? mapped(reader, relationRow) : reader;
}

function plainReader(reading: Reading): RowReader {
  switch (reading.by) {
    case 'lines':
      return new LineReader(lineParser(reading.className));
    case 'columns':
      return new LineReader(parseColumns());
    case 'list':
      return new ListReader(reading.key);
    case 'documents':
      return new BsonReader();
    case 'whole':
      return wholeReader();
    case 'problem':
      return problemReader(reading.problem);
    case 'nothing':
      return problemReader(undefined);
  }
}

/** Parses lines of one class. Chunks that were appended to each other repeat the first line, which is left out. */
function lineParser(className: string): (line: Buffer) => Parsed | undefined {
  let isForeign = false;
  return (line) => {
    if (isForeign) return undefined;
    if (line[0] !== HEADER_MARK[0]) return parseRow(line);
    const named = classOfHeader(line.toString('utf8'));
    if (named === className) return undefined;
    isForeign = named !== undefined;
    return isForeign ? { problem: FOREIGN_ROWS } : parseRow(line);
  };
}

/** `owner,member` a line, of ids that hold neither comma nor quote; a first line of column names is left out. */
function parseColumns(): (line: Buffer) => Parsed | undefined {
  let isFirst = true;
  return (line) => {
    const cells = line.toString('utf8').split(',').map(unquoted);
    const isHeader = isFirst && cells.every((cell) => HEADER_CELL.test(cell));
    isFirst = false;
    if (isHeader) return undefined;
    const [owningId = '', relatedId = ''] = cells;
    if (cells.length !== 2 || EMPTY_CELL.test(owningId) || EMPTY_CELL.test(relatedId)) return { problem: NO_PAIR };
    return { row: { owningId, relatedId } };
  };
}

function unquoted(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

/** The one row of a file of settings. */
function wholeReader(): RowReader {
  const bytes = new RowBytes(MAX_ROW_BYTES);
  return {
    *push(chunk) {
      bytes.push(chunk);
      yield* [];
    },
    *end(failure) {
      if (failure !== undefined) yield { line: 1, problem: failure };
      else if (bytes.isTooLong) yield { line: 1, problem: TOO_LARGE };
      else yield { line: 1, ...parseRow(withoutMark(bytes.take())) };
    },
  };
}

function problemReader(problem: string | undefined): RowReader {
  return {
    *push() {
      yield* [];
    },
    *end() {
      if (problem !== undefined) yield { line: 1, problem };
    },
  };
}

function mapped(reader: RowReader, change: (row: JsonObject) => Parsed): RowReader {
  function* changed(rows: Iterable<ReadRow>): Iterable<ReadRow> {
    for (const read of rows) yield 'row' in read ? { line: read.line, ...change(read.row) } : read;
  }
  return { push: (chunk) => changed(reader.push(chunk)), end: (failure) => changed(reader.end(failure)) };
}

/** A row of a join collection, with plain ids in place of pointers. */
function relationRow({ owningId, relatedId }: JsonObject): Parsed {
  const [owner, member] = [plainId(owningId), plainId(relatedId)];
  return owner === undefined || member === undefined
    ? { problem: NO_IDS }
    : { row: { owningId: owner, relatedId: member } };
}

function plainId(value: JsonValue | undefined): string | undefined {
  const id = isJsonObject(value) ? value['objectId'] : value;
  return typeof id === 'string' && id !== '' ? id : undefined;
}
