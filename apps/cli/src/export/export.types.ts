import type { JsonObject } from '#contracts';

/** A problem never quotes the row: it holds password hashes and session tokens. */
export type ExportRow = RowPlace & ({ readonly row: JsonObject } | { readonly problem: string });

interface RowPlace {
  readonly file: string;
  /** From 1; in BSON the number of the document. */
  readonly line: number;
  readonly className: string;
}

export interface RoleRelation {
  readonly owner: '_Role';
  readonly field: 'users' | 'roles';
}

/** One class within one file. `permissions`, `schema` and `indexes` have one row, the parsed file; `other` has none. */
export interface ExportPart {
  /** Path within the input, without control characters; with several inputs prefixed by the input's path. */
  readonly file: string;
  /** For a relation the name of its join collection; empty for `other`. */
  readonly className: string;
  readonly kind: 'rows' | 'relation' | 'permissions' | 'schema' | 'indexes' | 'other';
  readonly relation?: RoleRelation;
  readonly form: 'jsonl' | 'json' | 'bson' | 'csv' | 'unknown';
  /** As stored: of a gzip file the compressed size. */
  readonly bytes: number;
}

export interface Listing {
  warn(text: string): void;
  /** Warns of a file that is not read although it can hold rows. */
  skip(text: string): void;
  /** @returns false where the limit is reached; the listing then stops */
  count(): boolean;
  isDamaged: boolean;
  readonly isIncomplete: boolean;
}

export interface RowOrder {
  /** Default: false, the order of the call. True needs one pass of an archive only. */
  readonly inAnyOrder?: boolean;
}

export interface Export {
  /** Sorted within each input by name, numbers by value. */
  readonly parts: readonly ExportPart[];
  /** Sentences about files that are not read or look wrong; at most 101. */
  readonly warnings: readonly string[];
  readonly isDamaged: boolean;
  readonly isIncomplete: boolean;
  readonly bytesTotal: number;
  readonly bytesRead: number;
  /** Repeatable. Unreadable bytes become a last problem row. */
  rows(part: ExportPart): AsyncIterable<ExportRow>;
  /** Streams several parts in order. Neighbours in a tar archive share one pass, which otherwise starts at its beginning for each. */
  rowsOf(parts: readonly ExportPart[], order?: RowOrder): AsyncIterable<ExportRow>;
  close(): Promise<void>;
}

export type ReadRow = { readonly line: number } & ({ readonly row: JsonObject } | { readonly problem: string });

export interface RowReader {
  /** Consume all rows before the next call. */
  push(chunk: Buffer): Iterable<ReadRow>;
  /** @param failure why the bytes ended early */
  end(failure?: string): Iterable<ReadRow>;
}
