import { isStorableText } from '#object-values';
import { BOUNDS, invalidQuery } from './bounds.js';
import { parseCharacterClass } from './pattern-class.js';
import { escapeLiteral, parseEscape } from './pattern-escape.js';

export interface PostgresPattern {
  readonly pattern: string;
  readonly ignoresCase: boolean;
}

interface Piece {
  readonly pattern: string;
  /** How many parts it has with every repetition written out. */
  readonly parts: number;
}

/** A piece that a quantifier may follow, or one that matches between characters. */
interface Atom extends Piece {
  readonly isRepeatable: boolean;
}

const MAX_SOURCE_LENGTH = 4 * BOUNDS.patternParts;
const QUOTED_OR_ESCAPED = /\\Q(.*?)(?:\\E|$)|\\E|\\.|./gsu;
const LEADING_FLAGS = /\(\?([imsx]+)\)/y;
const INSIGNIFICANT = /(?:\s|#[^\n]*(?:\n|$))+/y;
const GROUP = /\((?:\?(:|=|!|<=|<!))?(?![?*])/y;
const QUANTIFIER = /(?:[*+?]|\{(\d{1,9})(?:,(\d{1,9})?)?\})/y;
const MAX_REPETITIONS = 255;

/**
 * Turns a regular expression as clients write it (PCRE, JavaScript) into PostgreSQL's advanced form. What PostgreSQL does not have, such as
 * back-references in a bounded time, atomic groups and Unicode properties, is refused; every literal comes out escaped.
 * @param options of the letters `i`, `m`, `s` and `x`
 * @throws AppError INVALID_QUERY
 */
export function toPostgresPattern(source: string, options: string): PostgresPattern {
  if (source.length > MAX_SOURCE_LENGTH) throw tooLong();
  if (!isStorableText(source)) throw invalidQuery('A regular expression must be valid Unicode without NUL characters.');
  if (!/^[imsx]{0,8}$/.test(options)) throw invalidQuery('$options are of the letters i, m, s and x.');
  return new PatternTranslator(unquote(source), options).translate();
}

/** Writes `\Q…\E` as escaped characters. */
function unquote(source: string): string {
  return source.replaceAll(QUOTED_OR_ESCAPED, (part, quoted: string | undefined) => {
    if (quoted !== undefined) return Array.from(quoted).map(escapeLiteral).join('');
    return part === '\\E' ? '' : part;
  });
}

class PatternTranslator {
  readonly #text: string;
  readonly #flags: ReadonlySet<string>;
  /** Characters that are no letters of the text, as PostgreSQL writes them. */
  readonly #symbols: ReadonlyMap<string, string>;
  #position = 0;
  #parts = 0;

  constructor(text: string, options: string) {
    this.#text = text;
    this.#flags = new Set(`${options}${this.#take(LEADING_FLAGS)?.[1] ?? ''}`);
    this.#symbols = new Map([
      ['^', '^'],
      ['$', '$'],
      ['.', this.#flags.has('s') ? '.' : '[^\\n]'],
    ]);
  }

  translate(): PostgresPattern {
    const { pattern } = this.#alternatives(0);
    if (this.#position < this.#text.length) throw invalidQuery('The regular expression closes what was never opened.');
    const ignoresCase = this.#flags.has('i');
    const letters = `${ignoresCase ? 'i' : ''}${this.#flags.has('m') ? 'w' : ''}`;
    return { pattern: `***:${letters === '' ? '' : `(?${letters})`}${pattern}`, ignoresCase };
  }

  #alternatives(depth: number): Piece {
    if (depth > BOUNDS.patternNesting)
      throw invalidQuery(`A regular expression may be nested ${BOUNDS.patternNesting} levels deep at most.`);
    const branches = [this.#branch(depth)];
    while (this.#takeCharacter('|')) branches.push(this.#branch(depth));
    return joined(branches, '|');
  }

  #branch(depth: number): Piece {
    const pieces: Piece[] = [];
    while (!this.#isAtEndOfBranch()) pieces.push(this.#quantified(this.#atom(depth)));
    return joined(pieces, '');
  }

  #isAtEndOfBranch(): boolean {
    this.#skipInsignificant();
    const character = this.#text[this.#position];
    return character === undefined || character === '|' || character === ')';
  }

  #atom(depth: number): Atom {
    this.#parts += 1;
    if (this.#parts > BOUNDS.patternParts) throw tooLong();
    const character = String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0);
    if (character === '(') return this.#group(depth);
    if (character === '[') return this.#read(parseCharacterClass(this.#text, this.#position), true);
    if (character === '\\') return this.#escape();
    if (this.#take(QUANTIFIER) !== undefined) throw invalidQuery('The regular expression repeats nothing.');
    const end = this.#position + character.length;
    return this.#read({ pattern: this.#symbols.get(character) ?? escapeLiteral(character), end }, !isAnchor(character));
  }

  #group(depth: number): Atom {
    const opening = this.#take(GROUP);
    if (opening === undefined) throw invalidQuery('A regular expression cannot hold such a group.');
    const { pattern, parts } = this.#alternatives(depth + 1);
    if (!this.#takeCharacter(')')) throw invalidQuery('A group of the regular expression is never closed.');
    const [, kind = ':'] = opening;
    return { pattern: `(?${kind}${pattern})`, parts, isRepeatable: kind === ':' };
  }

  #escape(): Atom {
    const escape = parseEscape(this.#text, this.#position);
    return this.#read(escape, escape.kind !== 'place');
  }

  #read({ pattern, end }: { pattern: string; end: number }, isRepeatable: boolean): Atom {
    this.#position = end;
    return { pattern, parts: 1, isRepeatable };
  }

  /** Whether a repetition takes much or little does not change whether the whole matches: the mark is dropped. */
  #quantified({ pattern, parts, isRepeatable }: Atom): Piece {
    this.#skipInsignificant();
    const [quantifier, least, most = least] = this.#take(QUANTIFIER) ?? [];
    if (quantifier === undefined) return { pattern, parts };
    this.#takeCharacter('?');
    if (!isRepeatable || this.#take(QUANTIFIER) !== undefined)
      throw invalidQuery('The regular expression repeats what cannot be repeated.');
    return bounded({ pattern: `${pattern}${quantifier}`, parts: parts * repetitions(least, most) });
  }

  #skipInsignificant(): void {
    if (this.#flags.has('x')) this.#take(INSIGNIFICANT);
  }

  #takeCharacter(character: string): boolean {
    const isNext = this.#text[this.#position] === character;
    if (isNext) this.#position += 1;
    return isNext;
  }

  #take(what: RegExp): RegExpExecArray | undefined {
    what.lastIndex = this.#position;
    const match = what.exec(this.#text) ?? undefined;
    this.#position += match?.[0].length ?? 0;
    return match;
  }
}

function isAnchor(character: string): boolean {
  return character === '^' || character === '$';
}

function repetitions(least: string | undefined, most: string | undefined): number {
  if (least === undefined) return 1;
  const [from, to] = [Number(least), Number(most)];
  if (from > to) throw invalidQuery('A repetition of the regular expression ends before it begins.');
  if (to > MAX_REPETITIONS)
    throw invalidQuery(`A regular expression may repeat a part ${MAX_REPETITIONS} times at most.`);
  return Math.max(to, 1);
}

function joined(pieces: readonly Piece[], separator: string): Piece {
  const pattern = pieces.map((piece) => piece.pattern).join(separator);
  return bounded({ pattern, parts: pieces.reduce((sum, { parts }) => sum + parts, 0) });
}

function bounded(piece: Piece): Piece {
  if (piece.parts > BOUNDS.repeatedPatternParts)
    throw invalidQuery(
      `A regular expression may have ${BOUNDS.repeatedPatternParts} parts at most, repetitions written out.`,
    );
  return piece;
}

const tooLong = () => invalidQuery(`A regular expression may have ${BOUNDS.patternParts} parts at most.`);
