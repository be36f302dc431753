import type { ClassName, CompletedField, ImportedObject } from '#contracts';
import type { Queryable, Tx } from '#database';
import type { ObjectRow } from '../class-definition.js';
import { claimsOf, type ImportClaim } from '../import-claims.js';
import type { ObjectRepository } from './object.repository.js';

/** A row to write: the object of the import, and the stored row that it replaces. */
export interface ImportedRow<Row> {
  readonly object: ImportedObject;
  readonly current: Row | undefined;
  /** The object holds only the fields to add to `current`, which has the same version. */
  readonly isAddition?: boolean;
}

/** How a class stores imported objects. `plainImport` serves classes without rules of their own. */
export interface ImportRules<Row extends ObjectRow> {
  /** Each claim of a class is under a unique constraint: a part can be written without a look-up. */
  readonly hasConstraints?: boolean;
  /** The objects that have the claimed values, by claim. */
  owners(
    within: Queryable,
    appId: string,
    claims: readonly ImportClaim[],
  ): Promise<readonly (readonly [string, string])[]>;
  /** The unique values of a stored row. */
  claimsOf(row: Row): readonly ImportClaim[];
  /** When the row was last changed. A login is no change. */
  changedAt(row: Row): Date;
  /** The fields that an import of the same version adds to the row. Absent: none. */
  lacks?(row: Row): CompletedField[];
  /** The work that needs no transaction, such as hashing. @returns the row to store */
  prepare(rows: readonly ImportedRow<Row>[], options: { readonly wrapPasswords: boolean }): Promise<Row[]>;
  /** Stores what is outside of the rows. `replaced` are those of them that were stored before. @returns false where a value was taken */
  storeParts?(
    tx: Tx,
    appId: string,
    written: { readonly rows: readonly Row[]; readonly replaced: readonly Row[] },
  ): Promise<boolean>;
  /** The tables of `storeParts`. */
  readonly tables?: readonly string[];
}

/** The rules of a class that its definition describes: columns with unique constraints, and no parts outside of the row. */
export function plainImport<Row extends ObjectRow>(
  className: ClassName,
  objects: ObjectRepository<Row>,
): ImportRules<Row> {
  return {
    owners: (within, appId, claims) => objects.ownersOf(within, appId, claims),
    claimsOf: (row) => claimsOf(className, { columns: objects.columnsOf(row) }),
    changedAt: ({ updatedAt }) => updatedAt,
    prepare: (rows) => Promise.resolve(rows.map(({ object }) => objects.importedRow(object))),
  };
}
