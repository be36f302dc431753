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

/** The SQL of one condition on one field; NULL counts as false. @throws AppError INVALID_QUERY where it cannot be asked */
export function compileField({ field, test }: FieldCondition, context: CompileContext): string {
  const target = targetOf(field, context.queryClass);
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

/** One field of the index, as the parts of the search ask for it. */
interface Asked {
  /** The rows whose value is no list; by the index, exactly. */
  readonly single: string;
  /** The rows whose value is a list: its items may pass. By the index, exactly. */
  readonly list: string;
  /** Either of them, without the index. */
  readonly any: string;
}

/**
 * What a query asks of the fields of its index, as the parts of a search: no row is in two of them. The first looks up values; the
 * others, one for each field, the lists in that field, whose items are values too. There are few lists in a field worth indexing.
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

function askedOf(part: IndexedEquality | IndexedRange, context: CompileContext): Asked {
  const conditions = part.kind === 'equals' ? [part.condition] : part.conditions;
  const any = conditions.map((condition) => compileField(condition, context)).join(' AND ');
  const { rank } = indexedParts(fieldValue(part.field, context.queryClass));
  const isSought = part.kind === 'equals' ? equals(part, context) : isWithin(part, context);
  const isExact = part.kind === 'equals' || part.rank === RANKS.number;
  const single = [`${rank} = ${part.rank}`, isSought, ...(isExact ? [] : [any])].join(' AND ');
  return { single, list: `${rank} = ${RANKS.array} AND ${any}`, any };
}

/** The index holds the beginning of a text, so the whole value is compared as well. */
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

/** Of texts the bounds are those of their beginnings: the range that the index knows is as wide or wider. */
function isWithin({ field, rank, tests }: IndexedRange, { queryClass, statement }: CompileContext): string {
  const { number, text } = indexedParts(fieldValue(field, queryClass));
  const bounds = tests.map(({ operator, value }) => {
    const bound = `${statement.bind(JSON.stringify(value))}::jsonb`;
    if (rank === RANKS.number) return `${number} ${operator} (${bound})::numeric`;
    return `${text} ${operator.charAt(0)}= ${indexedText(`(${bound} #>> '{}')`)}`;
  });
  return [...(rank === RANKS.number ? [] : [`${number} = 0`]), ...bounds].join(' AND ');
}
