import type { JsonValue } from '#contracts';

/** The `where` of a query as a tree. */
export type Condition =
  | { readonly kind: 'and'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'equals'; readonly field: string; readonly value: JsonValue };

export interface SortKey {
  readonly field: string;
  readonly direction: 'ASC' | 'DESC';
}

/** A parsed query; no limit means all rows. */
export interface ObjectQuery {
  readonly where: Condition;
  readonly order: readonly SortKey[];
  readonly limit?: number | undefined;
  readonly skip?: number | undefined;
}
