import type { FieldIndex } from './field-index.js';
import type { FieldTestKind, FieldTestOf, SubQuery } from './query.js';
import type { QueryClass, QueryScope } from './query-class.js';

/** Documents that one equality looks up in the index, and all of a query together; with more it does without. */
const MAX_DOCUMENTS_AT_ONCE = 256;
const MAX_DOCUMENTS = 2_560;

/** What a statement has bound. */
export class Statement {
  readonly parameters: unknown[];
  #documents = 0;

  constructor(bound: readonly unknown[] = []) {
    this.parameters = [...bound];
  }

  /** Makes the value a parameter. @returns its place, such as `$3` */
  readonly bind = (value: unknown): string => `$${this.parameters.push(value)}`;

  /** Whether there is room for so many more documents; if so they are counted. */
  spendDocuments(count: number): boolean {
    if (count > MAX_DOCUMENTS_AT_ONCE || this.#documents + count > MAX_DOCUMENTS) return false;
    this.#documents += count;
    return true;
  }
}

/** What the conditions of one (sub-)query are compiled with. */
export interface CompileContext {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly statement: Statement;
  /** The index that the statement uses; sub-queries use none. */
  readonly index?: FieldIndex | undefined;
  /** The sub-query as `SELECT <column> FROM …`; nothing in it refers to the query around it. */
  readonly select: (query: SubQuery, column: (within: CompileContext) => string) => string;
}

/** How each test is asked of one kind of target. The SQL may be NULL, which counts as false. */
export type TestCompilers<Target> = {
  readonly [Kind in FieldTestKind]: (test: FieldTestOf<Kind>, target: Target, context: CompileContext) => string;
};

/** @returns the conditions joined; TRUE without any */
export function allOf(conditions: readonly string[]): string {
  return joined(conditions, ' AND ', 'TRUE');
}

/** @returns the conditions joined; FALSE without any */
export function anyOf(conditions: readonly string[]): string {
  return joined(conditions, ' OR ', 'FALSE');
}

/** True where the condition is false or NULL: what is not there is not equal, not in the list, and so on. */
export function not(condition: string): string {
  return `(${condition}) IS NOT TRUE`;
}

function joined(conditions: readonly string[], operator: string, empty: string): string {
  if (conditions.length === 0) return empty;
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(operator)})`;
}
