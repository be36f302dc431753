import { invalidQuery } from './bounds.js';
import type { FieldPath } from './query.js';
import type { QueryClass, QueryColumn, QueryRelation } from './query-class.js';

/** Where what a query names is kept. */
export type QueryTarget =
  | { readonly kind: 'column'; readonly column: QueryColumn }
  | { readonly kind: 'relation'; readonly relation: QueryRelation }
  | { readonly kind: 'json'; readonly path: FieldPath };

/** The one way from a name in a query to what it stands for. @throws AppError INVALID_QUERY where it is hidden, or has no parts */
export function targetOf(path: FieldPath, { hidden, columns, relations }: QueryClass): QueryTarget {
  const [field, ...steps] = path;
  if (hidden.has(field)) throw invalidQuery(`The field ${field} cannot be queried.`);
  const column = columns.get(field);
  const relation = relations.get(field);
  if (steps.length > 0 && (column ?? relation) !== undefined) throw invalidQuery(`The field ${field} has no parts.`);
  if (column !== undefined) return { kind: 'column', column };
  return relation === undefined ? { kind: 'json', path } : { kind: 'relation', relation };
}
