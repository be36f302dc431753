import { type AppError, appError } from '#errors';

/** What one query may ask for. Beyond a bound it is refused with a text that names the bound. */
export const BOUNDS = {
  /** Of the whole query, those of sub-queries included. */
  conditions: 100,
  /** Of `$and`, `$or` and `$nor` within each other. */
  nesting: 8,
  /** Of `$in`, `$nin` and `$all`. */
  listValues: 1_000,
  sortKeys: 10,
  pathSteps: 8,
  pathCharacters: 256,
  subQueries: 5,
  subQueryDepth: 2,
  subQueryRows: 1_000,
  skippedRows: 1_000_000_000,
  /** Of a regular expression, once it is parsed: letters, classes and anchors. */
  patternParts: 256,
  /** The same, with every repetition written out. */
  repeatedPatternParts: 1_000,
  /** Anchors, word boundaries and look-arounds of a regular expression. */
  patternPlaces: 12,
  patternNesting: 16,
} as const;

/** @returns INVALID_QUERY with a text of its own */
export function invalidQuery(message: string): AppError {
  return appError('INVALID_QUERY', { message });
}

/** Counts what a query and its sub-queries have in common. */
export class QueryBudget {
  #conditions = 0;
  #subQueries = 0;

  /** @throws AppError INVALID_QUERY where there have been too many */
  spendCondition(): void {
    this.#conditions += 1;
    if (this.#conditions > BOUNDS.conditions)
      throw invalidQuery(`A query may hold ${BOUNDS.conditions} conditions at most.`);
  }

  /** @throws AppError INVALID_QUERY where there have been too many */
  spendSubQuery(): void {
    this.#subQueries += 1;
    if (this.#subQueries > BOUNDS.subQueries)
      throw invalidQuery(`A query may hold ${BOUNDS.subQueries} sub-queries at most.`);
  }
}
