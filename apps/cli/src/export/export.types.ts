import type { JsonObject } from '#contracts';

/** One row of an export, or why a row cannot be read. A problem never quotes the row: it holds password hashes and session tokens. */
export type ExportRow = RowPlace & ({ readonly row: JsonObject } | { readonly problem: string });

interface RowPlace {
  /** As `ExportPart.file`. */
  readonly file: string;
  /** From 1, of the file; in BSON the number of the document. */
  readonly line: number;
  readonly className: string;
}

/** A relation of `_Role`: `users` are the members, `roles` the child roles. */
export interface RoleRelation {
  readonly owner: '_Role';
  readonly field: 'users' | 'roles';
}

/**
 * One class within one file. `permissions` is `_X_permissions.json` or `_X_all.json`; `permissions`, `schema` and `indexes` have one row, the
 * parsed file. `other` has no rows that the reader understands.
 */
export interface ExportPart {
  /** Path within the folder or archive, without control characters. With several inputs the path of the input stands before it. */
  readonly file: string;
  /** Of a relation: the name of its join collection. Empty where `kind` is `other`. */
  readonly className: string;
  readonly kind: 'rows' | 'relation' | 'permissions' | 'schema' | 'indexes' | 'other';
  readonly relation?: RoleRelation;
  readonly form: 'jsonl' | 'json' | 'bson' | 'csv' | 'unknown';
  /** Size as stored, in bytes: of a gzip file its compressed size. */
  readonly bytes: number;
}

/** Collects the findings of the listing of inputs and archives. */
export interface Listing {
  warn(text: string): void;
  /** Warns of a file that is not read, although it can hold rows. */
  skip(text: string): void;
  /** Counts a file, or a further class in a file. @returns false where the limit is reached; the listing then stops */
  count(): boolean;
  /** Whether an archive could not be read to its end. */
  isDamaged: boolean;
  readonly isIncomplete: boolean;
}

export interface RowOrder {
  /** Reads the parts in the order of the archive, so that one pass is enough. Default: false, the order of the call. */
  readonly inAnyOrder?: boolean;
}

/** An open export. */
export interface Export {
  /** Sorted by name within each input, numbers by value: `_User.10.jsonl` after `_User.9.jsonl`. */
  readonly parts: readonly ExportPart[];
  /** Plain sentences about files that are not read or look wrong; at most 101. */
  readonly warnings: readonly string[];
  /** An archive could not be read to its end. */
  readonly isDamaged: boolean;
  /** Files are not read that can hold rows. */
  readonly isIncomplete: boolean;
  /** Sum of `bytes` of all parts. */
  readonly bytesTotal: number;
  /** Bytes that calls of `rows` have read so far, in the measure of `bytesTotal`. */
  readonly bytesRead: number;
  /** Streams the rows of a part, as often as asked. Bytes that cannot be read become a last problem row. */
  rows(part: ExportPart): AsyncIterable<ExportRow>;
  /**
   * Streams the rows of several parts in their order. Parts that follow each other in a tar archive are read in one pass: an archive of many
   * classes would else be read from its beginning for each.
   */
  rowsOf(parts: readonly ExportPart[], order?: RowOrder): AsyncIterable<ExportRow>;
  close(): Promise<void>;
}

/** A row as a reader of one format finds it. */
export type ReadRow = { readonly line: number } & ({ readonly row: JsonObject } | { readonly problem: string });

/** Reads the rows of one format from chunks of bytes. It holds at most one row. */
export interface RowReader {
  /** Consume all rows before the next call. */
  push(chunk: Buffer): Iterable<ReadRow>;
  /** Ends the bytes. @param failure why they ended early */
  end(failure?: string): Iterable<ReadRow>;
}
