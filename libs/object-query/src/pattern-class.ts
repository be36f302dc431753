import { invalidQuery } from './bounds.js';
import { type Escape, escapeLiteral, parseEscape } from './pattern-escape.js';

const NAMED = /\[:(?:alpha|digit|alnum|upper|lower|space|blank|punct|print|graph|cntrl|xdigit):\]/y;
const BACKSPACE = { kind: 'character', pattern: '\\\b', codePoint: 0x08 } as const;

/**
 * Reads a class such as `[^a-z\d]` that begins at a position.
 * @returns it as PostgreSQL's, and where it ends
 * @throws AppError INVALID_QUERY
 */
export function parseCharacterClass(text: string, position: number): { pattern: string; end: number } {
  const isNegated = text[position + 1] === '^';
  const start = position + (isNegated ? 2 : 1);
  const items: string[] = [];
  let next = start;
  // A bracket right at the start stands for itself.
  while (next === start || text[next] !== ']') {
    const item = parseRange(text, next);
    items.push(item.pattern);
    next = item.end;
  }
  return { pattern: `[${isNegated ? '^' : ''}${items.join('')}]`, end: next + 1 };
}

function parseRange(text: string, position: number): Pick<Escape, 'pattern' | 'end'> {
  const first = parseItem(text, position);
  const isRange = first.kind === 'character' && text[first.end] === '-' && text[first.end + 1] !== ']';
  if (!isRange) return first;
  const last = parseItem(text, first.end + 1);
  if (last.kind !== 'character' || last.codePoint < first.codePoint)
    throw invalidQuery('A range of the regular expression does not end.');
  return { pattern: `${first.pattern}-${last.pattern}`, end: last.end };
}

function parseItem(text: string, position: number): Escape {
  const codePoint = text.codePointAt(position);
  if (codePoint === undefined) throw invalidQuery('A class of the regular expression is never closed.');
  const character = String.fromCodePoint(codePoint);
  if (character === '\\') return parseEscapedItem(text, position);
  NAMED.lastIndex = position;
  const [named] = NAMED.exec(text) ?? [];
  return named === undefined
    ? { kind: 'character', pattern: escapeLiteral(character), codePoint, end: position + character.length }
    : { kind: 'class', pattern: named, codePoint: 0, end: position + named.length };
}

function parseEscapedItem(text: string, position: number): Escape {
  if (text[position + 1] === 'b') return { ...BACKSPACE, end: position + 2 };
  const escape = parseEscape(text, position);
  if (escape.kind === 'place') throw invalidQuery('A class of the regular expression holds what is no character.');
  return escape;
}
