import { LIMITS, invalidQuery } from './query.js';

/** The meaning of an escape: a character, a class, or a zero-width constraint, which can neither be repeated nor be part of a class. */
interface Escape {
  readonly kind: 'character' | 'class' | 'place';
  readonly pattern: string;
  readonly codePoint: number;
  readonly end: number;
}

type Meaning = Pick<Escape, 'kind' | 'pattern'>;

const ESCAPE = /\\(?:x\{([0-9A-Fa-f]{1,6})\}|[xu]([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([^A-Za-z0-9])|(.))/suy;

const CONTROLS = new Map([
  ['a', 0x07],
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
  ['e', 0x1b],
]);

const MEANINGS = new Map<string, Meaning>([
  ...Array.from('dDwWsS', (letter): [string, Meaning] => [letter, { kind: 'class', pattern: `\\${letter}` }]),
  ['A', { kind: 'place', pattern: '\\A' }],
  ['b', { kind: 'place', pattern: '\\y' }],
  ['B', { kind: 'place', pattern: '\\Y' }],
  ['z', { kind: 'place', pattern: '\\Z' }],
  ['Z', { kind: 'place', pattern: '\\Z' }],
]);

export function escapeLiteral(character: string): string {
  return /[A-Za-z0-9]|\P{ASCII}/u.test(character) ? character : `\\${character}`;
}

export function parseEscape(text: string, position: number): Escape {
  ESCAPE.lastIndex = position;
  const [whole = '', braced, four, two, symbol, letter = ''] = ESCAPE.exec(text) ?? [];
  const end = position + whole.length;
  const codePoint = codePointOf(braced ?? four ?? two, symbol) ?? CONTROLS.get(letter);
  if (codePoint !== undefined) return { kind: 'character', pattern: literalOf(codePoint), codePoint, end };
  const meaning = MEANINGS.get(letter);
  if (meaning === undefined)
    throw invalidQuery(`A regular expression cannot contain the escape \\${letter.slice(0, 1)}.`);
  return { ...meaning, codePoint: 0, end };
}

function codePointOf(digits: string | undefined, symbol: string | undefined): number | undefined {
  return digits === undefined ? symbol?.codePointAt(0) : Number.parseInt(digits, 16);
}

function literalOf(codePoint: number): string {
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint === 0 || codePoint > 0x10ffff || isSurrogate)
    throw invalidQuery('A regular expression cannot contain this character.');
  return escapeLiteral(String.fromCodePoint(codePoint));
}

const NAMED = /\[:(?:alpha|digit|alnum|upper|lower|space|blank|punct|print|graph|cntrl|xdigit):\]/y;
const BACKSPACE = { kind: 'character', pattern: '\\\b', codePoint: 0x08 } as const;

export function parseCharacterClass(text: string, position: number): { pattern: string; end: number } {
  const isNegated = text[position + 1] === '^';
  const start = position + (isNegated ? 2 : 1);
  const items: string[] = [];
  let next = start;
  // A bracket at the start is a literal.
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
    throw invalidQuery('A range in the regular expression has no end.');
  return { pattern: `${first.pattern}-${last.pattern}`, end: last.end };
}

function parseItem(text: string, position: number): Escape {
  const codePoint = text.codePointAt(position);
  if (codePoint === undefined) throw invalidQuery('A class in the regular expression is not closed.');
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
  if (escape.kind === 'place')
    throw invalidQuery('A class in the regular expression contains an item that is not a character.');
  return escape;
}

export interface PatternPiece {
  readonly pattern: string;
  readonly parts: number;
  /** Whether the piece contains a zero-width constraint: an anchor, a word boundary, a look-around. */
  readonly holdsPlace: boolean;
  readonly canBeEmpty: boolean;
}

interface Quantifier {
  readonly text: string;
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** PostgreSQL's maximum for explicit bounds. */
const MAX_REPETITIONS = 255;

export function inSequence(pieces: readonly PatternPiece[]): PatternPiece {
  return joined(
    pieces,
    '',
    pieces.every(({ canBeEmpty }) => canBeEmpty),
  );
}

export function oneOf(pieces: readonly PatternPiece[]): PatternPiece {
  return joined(
    pieces,
    '|',
    pieces.some(({ canBeEmpty }) => canBeEmpty),
  );
}

/** Rejects what PostgreSQL compiles for seconds or minutes: repeated zero-width constraints, many copies of a piece that can be empty. */
export function repeated(piece: PatternPiece, quantifier: Quantifier): PatternPiece {
  const { text, least } = quantifier;
  if (piece.holdsPlace && text !== '?') {
    throw invalidQuery(
      'A repeated part of a regular expression cannot contain an anchor, a word boundary or a look-around.',
    );
  }
  return bounded({
    ...piece,
    pattern: `${piece.pattern}${text}`,
    parts: piece.parts * copies(piece, quantifier),
    canBeEmpty: piece.canBeEmpty || text === '*' || text === '?' || least === 0,
  });
}

function copies({ canBeEmpty }: PatternPiece, { least, most = least }: Quantifier): number {
  if (least === undefined || most === undefined) return 1;
  if (canBeEmpty)
    throw invalidQuery('A part of a regular expression that can be empty cannot have a numeric repetition.');
  if (least > most) throw invalidQuery('A repetition in the regular expression has a maximum below its minimum.');
  if (most > MAX_REPETITIONS)
    throw invalidQuery(`A regular expression may repeat a part at most ${MAX_REPETITIONS} times.`);
  return Math.max(most, 1);
}

function joined(pieces: readonly PatternPiece[], separator: string, canBeEmpty: boolean): PatternPiece {
  return bounded({
    pattern: pieces.map(({ pattern }) => pattern).join(separator),
    parts: pieces.reduce((sum, { parts }) => sum + parts, 0),
    holdsPlace: pieces.some(({ holdsPlace }) => holdsPlace),
    canBeEmpty,
  });
}

function bounded(piece: PatternPiece): PatternPiece {
  const { repeatedPatternParts: bound } = LIMITS;
  if (piece.parts > bound)
    throw invalidQuery(`A regular expression may have at most ${bound} parts with repetitions expanded.`);
  return piece;
}
