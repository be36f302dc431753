/** What names a row to those who seal a value: its key, and what else the table says that it needs. */
export type SealedRow = Readonly<Record<string, string>>;

/** A sealed value of a row. */
interface SealedValue {
  /** SQL of its text, of the table `t`; null or empty where there is none. */
  readonly sql: string;
  /** What it is sealed for. */
  readonly context: (row: SealedRow) => string;
  /** Column that the text stands in, unless `set` says more. */
  readonly column: string;
  /** SQL of what the column becomes, of the SQL of the new text. It is the text itself unless given. */
  readonly set?: (sealed: string) => string;
  /** Column with the hash by which the secret is found. */
  readonly hashColumn?: string;
}

/** A table that holds sealed values. Every name and all SQL in it is ours, none is input. */
export interface SealedTable {
  /** How operators know it. */
  readonly name: string;
  /** With its schema. */
  readonly table: string;
  /** Columns of the primary key, with their types. */
  readonly key: Readonly<Record<string, string>>;
  /** More that contexts need: SQL of texts, by name. */
  readonly also?: Readonly<Record<string, string>>;
  readonly values: readonly SealedValue[];
}
