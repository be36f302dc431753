import { invalidQuery } from './bounds.js';

/** What an escape stands for: one character, a class of them, or a place between two, which can neither be repeated nor stand in a class. */
export interface Escape {
  readonly kind: 'character' | 'class' | 'place';
  readonly pattern: string;
  /** Of a character. */
  readonly codePoint: number;
  /** Where it ends in the text. */
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

/** Those that PostgreSQL has as well, some of them by another letter. */
const MEANINGS = new Map<string, Meaning>([
  ...Array.from('dDwWsS', (letter): [string, Meaning] => [letter, { kind: 'class', pattern: `\\${letter}` }]),
  ['A', { kind: 'place', pattern: '\\A' }],
  ['b', { kind: 'place', pattern: '\\y' }],
  ['B', { kind: 'place', pattern: '\\Y' }],
  ['z', { kind: 'place', pattern: '\\Z' }],
  ['Z', { kind: 'place', pattern: '\\Z' }],
]);

/** The character as a pattern that matches it alone. */
export function escapeLiteral(character: string): string {
  return /[A-Za-z0-9]|\P{ASCII}/u.test(character) ? character : `\\${character}`;
}

/** Reads the escape that begins at a position. @throws AppError INVALID_QUERY where PostgreSQL has nothing like it */
export function parseEscape(text: string, position: number): Escape {
  ESCAPE.lastIndex = position;
  const [whole = '', braced, four, two, symbol, letter = ''] = ESCAPE.exec(text) ?? [];
  const end = position + whole.length;
  const codePoint = codePointOf(braced ?? four ?? two, symbol) ?? CONTROLS.get(letter);
  if (codePoint !== undefined) return { kind: 'character', pattern: literalOf(codePoint), codePoint, end };
  const meaning = MEANINGS.get(letter);
  if (meaning === undefined) throw invalidQuery(`A regular expression cannot hold the escape \\${letter.slice(0, 1)}.`);
  return { ...meaning, codePoint: 0, end };
}

function codePointOf(digits: string | undefined, symbol: string | undefined): number | undefined {
  return digits === undefined ? symbol?.codePointAt(0) : Number.parseInt(digits, 16);
}

function literalOf(codePoint: number): string {
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint === 0 || codePoint > 0x10ffff || isSurrogate)
    throw invalidQuery('A regular expression cannot hold such a character.');
  return escapeLiteral(String.fromCodePoint(codePoint));
}
