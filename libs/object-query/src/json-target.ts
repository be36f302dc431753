import type { JsonValue } from '#contracts';
import type { CompileContext } from './compile-context.js';
import { jsonAt } from './compile-value.js';
import { isPlace } from './field-path.js';
import type { FieldPath } from './query.js';

/**
 * A path into the JSON column, in two parts. Up to its last step that can be a place in a list it is followed exactly; from there on it goes by names,
 * and through the items of every list on the way, as the API does.
 */
export interface JsonTarget {
  readonly path: FieldPath;
  /** How many steps are followed exactly. */
  readonly exactSteps: number;
  /** The value that the exact steps lead to. Each call binds parameters, all of which the statement must use. */
  readonly base: () => string;
  /** The rest as a JSON path. Every name in it is of characters that mean nothing there. */
  readonly jsonPath: string;
}

/** Where a path of a query leads. */
export function jsonTarget(path: FieldPath, context: CompileContext): JsonTarget {
  const exactSteps = path.findLastIndex((step, index) => index > 0 && isPlace(step)) + 1;
  const [field, ...steps] = path.slice(0, exactSteps);
  const base = () => (field === undefined ? context.queryClass.jsonColumn : jsonAt([field, ...steps], context));
  const names = path.slice(exactSteps).map((name) => `."${name}"`);
  return { path, exactSteps, base, jsonPath: `lax $${names.join('')}` };
}

/** Of how many documents `documentsOf` would consist for one value. */
export function documentCount({ path, exactSteps }: JsonTarget): number {
  const ways = path.map((step, index) => wayCount(step, index, exactSteps));
  return ways.reduce((product, count) => product * count, 2);
}

function wayCount(step: string, index: number, exactSteps: number): number {
  if (index === 0) return 1;
  return index >= exactSteps || isPlace(step) ? 2 : 1;
}

/**
 * All that a JSON column can contain (`@>`) where the value stands at the path: in a member or in the members of a list, by itself or as
 * an item of a list. To contain one of them is necessary for equality, but not always enough.
 */
export function documentsOf({ path, exactSteps }: JsonTarget, value: JsonValue): JsonValue[] {
  return path.reduceRight<JsonValue[]>(
    (inner, step, index) => {
      const asMember = inner.map((document) => ({ [step]: document }));
      if (index === 0 || (index < exactSteps && !isPlace(step))) return asMember;
      const asItem = index < exactSteps ? inner.map((document) => [document]) : asMember.map((document) => [document]);
      return [...asMember, ...asItem];
    },
    [value, [value]],
  );
}
