import { columnTests } from './compile-column.js';
import { type CompileContext, jsonTarget, type TestCompilers } from './compile-context.js';
import { jsonTests } from './compile-json.js';
import { relationTests } from './compile-relation.js';
import {
  fieldValue,
  type IndexedEquality,
  indexedParts,
  type IndexedRange,
  indexedText,
  RANKS,
} from './field-index.js';
import { type FieldCondition, type FieldTestKind, type FieldTestOf, targetOf } from './query.js';

/** The SQL of one condition on one field; NULL counts as false. @throws AppError INVALID_QUERY where the field does not support the test */
export function compileField({ field, test }: FieldCondition, context: CompileContext): string {
  const target = targetOf(field, context.queryClass, test.kind);
  switch (target.kind) {
    case 'column':
      return compileTest(test, columnTests, target.column, context);
    case 'relation':
      return compileTest(test, relationTests, target.relation, context);
    case 'json':
      return compileTest(test, jsonTests, jsonTarget(field, context), context);
  }
}

function compileTest<Kind extends FieldTestKind, Target>(
  test: FieldTestOf<Kind>,
  tests: TestCompilers<Target>,
  target: Target,
  context: CompileContext,
): string {
  return tests[test.kind](test, target, context);
}

/** The condition on one field of the index, in the forms that the parts of the search use. */
interface FieldSearch {
  /** Rows whose value is not a list; exact by the index. */
  readonly single: string;
  /** Rows whose value is a list, whose items may match; exact by the index. */
  readonly list: string;
  /** Both kinds of rows, without the index. */
  readonly any: string;
}

/**
 * The parts of an index search; no row is in two of them. The first part looks up values; each other part covers the lists of one field,
 * whose items are values, too. The search assumes that a field worth indexing holds few lists.
 */
export function searchParts(
  narrowing: readonly (IndexedEquality | IndexedRange)[],
  context: CompileContext,
): [values: string, ...lists: string[]] {
  const asked = narrowing.map((part) => askedOf(part, context));
  const inAllOf = asked.map(({ single }) => single);
  const withList = asked.map(({ list }, place) => [
    ...inAllOf.slice(0, place),
    list,
    ...asked.slice(place + 1).map(({ any }) => any),
  ]);
  const [values, ...lists] = [inAllOf, ...withList].map((conditions) => conditions.join(' AND '));
  return [values ?? 'TRUE', ...lists];
}

function askedOf(part: IndexedEquality | IndexedRange, context: CompileContext): FieldSearch {
  const conditions = part.kind === 'equals' ? [part.condition] : part.conditions;
  const any = conditions.map((condition) => compileField(condition, context)).join(' AND ');
  const { rank } = indexedParts(fieldValue(part.field, context.queryClass));
  const isSought = part.kind === 'equals' ? equals(part, context) : isWithin(part, context);
  const isExact = part.kind === 'equals' || part.rank === RANKS.number;
  const single = [`${rank} = ${part.rank}`, isSought, ...(isExact ? [] : [any])].join(' AND ');
  return { single, list: `${rank} = ${RANKS.array} AND ${any}`, any };
}

/** The index contains only a prefix of a text, so the full value is compared, too. */
function equals({ field, rank, values }: IndexedEquality, { queryClass, statement }: CompileContext): string {
  const value = fieldValue(field, queryClass);
  const { number, text } = indexedParts(value);
  const isNumber = rank === RANKS.number;
  const [only, ...others] = values;
  if (others.length === 0) {
    const sought = `${statement.bind(JSON.stringify(only))}::jsonb`;
    if (isNumber) return `${number} = (${sought})::numeric AND ${text} = ''`;
    return `${number} = 0 AND ${text} = ${indexedText(`(${sought} #>> '{}')`)} AND ${value} = ${sought}`;
  }
  const sought = `${statement.bind(values.map((each) => JSON.stringify(each)))}::jsonb[]`;
  const each = (sql: string) => `ANY (ARRAY(SELECT ${sql} FROM unnest(${sought}) AS sought(value)))`;
  if (isNumber) return `${number} = ${each('value::numeric')}`;
  return `${number} = 0 AND ${text} = ${each(indexedText(`(value #>> '{}')`))} AND ${value} = ANY (${sought})`;
}

/** For texts, the bounds are compared by prefix: the index range is equal to or wider than the requested one. */
function isWithin({ field, rank, tests }: IndexedRange, { queryClass, statement }: CompileContext): string {
  const { number, text } = indexedParts(fieldValue(field, queryClass));
  const bounds = tests.map(({ operator, value }) => {
    const bound = `${statement.bind(JSON.stringify(value))}::jsonb`;
    if (rank === RANKS.number) return `${number} ${operator} (${bound})::numeric`;
    return `${text} ${operator.charAt(0)}= ${indexedText(`(${bound} #>> '{}')`)}`;
  });
  return [...(rank === RANKS.number ? [] : [`${number} = 0`]), ...bounds].join(' AND ');
}
