import { bestFit, type Condition, conjunction, isCustom, type ObjectQuery, type QueryClass } from '#object-query';
import { MAX_INDEXED_FIELDS } from '#contracts';

/** A kind of question: what is asked of which fields, in what order. No value of it is kept. */
export interface QuestionShape {
  readonly question: string;
  /** Fields of an index that would serve it; empty where none would. */
  readonly fields: readonly string[];
}

const MAX_LENGTH = 300;

const WORDS = {
  isAnyOf: '=',
  holdsAll: '$all',
  exists: '$exists',
  hasSize: '$size',
  matches: '$regex',
  isNear: '$nearSphere',
  isWithin: '$within',
  isInQuery: '$inQuery',
  isSelected: '$select',
} as const;

export function questionShape(query: Pick<ObjectQuery, 'where' | 'order'>, queryClass: QueryClass): QuestionShape {
  const conditions = [...new Set(conjunction(query.where).map(describe))].sort();
  const order = query.order.map(({ field, direction }) => `${direction === 'DESC' ? '-' : ''}${field.join('.')}`);
  const question = [conditions.join(', '), ...(order.length === 0 ? [] : [`order ${order.join(',')}`])];
  const text = question.filter((part) => part !== '').join('; ');
  return { question: (text === '' ? 'all' : text).slice(0, MAX_LENGTH), fields: indexableFields(query, queryClass) };
}

function describe(condition: Condition): string {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.map(describe).join(', ');
    case 'or':
      return `(${[...new Set(condition.conditions.map(describe))].join(' or ')})`;
    case 'not':
      return `not (${describe(condition.condition)})`;
    case 'related':
      return '$relatedTo';
    case 'field': {
      const { field, test } = condition;
      return `${field.join('.')} ${test.kind === 'compares' ? test.operator : WORDS[test.kind]}`;
    }
  }
}

/** Those that it wants equal, then those of its order, or one that it bounds. */
function indexableFields(query: Pick<ObjectQuery, 'where' | 'order'>, queryClass: QueryClass): readonly string[] {
  const asked = conjunction(query.where).flatMap((condition) => {
    if (condition.kind !== 'field' || condition.field.length > 1 || !isCustom(condition.field[0], queryClass))
      return [];
    return [{ field: condition.field[0], kind: condition.test.kind }];
  });
  const equal = asked.filter(({ kind }) => kind === 'isAnyOf').map(({ field }) => field);
  const ordered = query.order.map(({ field }) => field.join('.')).filter((field) => isCustom(field, queryClass));
  const bounded = asked.filter(({ kind }) => kind === 'compares').map(({ field }) => field);
  const last = ordered.length > 0 ? ordered : bounded.slice(0, 1);
  const fields = [...new Set([...equal, ...last])].slice(0, MAX_INDEXED_FIELDS);
  return fields.length > 0 && bestFit(query, [{ fields }], queryClass) !== undefined ? fields : [];
}
