import { isStorableText } from '../values.js';
import {
  escapeLiteral,
  inSequence,
  oneOf,
  parseCharacterClass,
  parseEscape,
  type PatternPiece,
  repeated,
} from './pattern-piece.js';
import { LIMITS, invalidQuery } from './query.js';

interface PostgresPattern {
  readonly pattern: string;
  readonly ignoresCase: boolean;
}

interface Ending {
  readonly pattern: string;
  readonly end: number;
}

interface Atom {
  readonly piece: PatternPiece;
  readonly isRepeatable: boolean;
}

const MAX_SOURCE_LENGTH = 4 * LIMITS.patternParts;
const QUOTED_OR_ESCAPED = /\\Q(.*?)(?:\\E|$)|\\E|\\.|./gsu;
const LEADING_FLAGS = /\(\?([imsx]+)\)/y;
const INSIGNIFICANT = /(?:\s|#[^\n]*(?:\n|$))+/y;
const GROUP = /\((?:\?(:|=|!|<=|<!))?(?![?*])/y;
const QUANTIFIER = /(?:[*+?]|\{(\d{1,9})(?:,(\d{1,9})?)?\})/y;

/** Converts a client's expression (PCRE, JavaScript); rejects features that PostgreSQL lacks. `options`: the letters `i`, `m`, `s`, `x`. */
export function toPostgresPattern(source: string, options: string): PostgresPattern {
  if (source.length > MAX_SOURCE_LENGTH) throw tooLong();
  if (!isStorableText(source)) throw invalidQuery('A regular expression must be valid Unicode without NUL characters.');
  if (!/^[imsx]{0,8}$/.test(options)) throw invalidQuery('$options may contain the letters i, m, s and x only.');
  return new PatternTranslator(unquote(source), options).translate();
}

function unquote(source: string): string {
  return source.replaceAll(QUOTED_OR_ESCAPED, (part, quoted: string | undefined) => {
    if (quoted !== undefined) return Array.from(quoted).map(escapeLiteral).join('');
    return part === '\\E' ? '' : part;
  });
}

class PatternTranslator {
  readonly #text: string;
  readonly #flags: ReadonlySet<string>;
  readonly #anyCharacter: string;
  #position = 0;
  #parts = 0;
  #places = 0;

  constructor(text: string, options: string) {
    this.#text = text;
    this.#flags = new Set(`${options}${this.#take(LEADING_FLAGS)?.[1] ?? ''}`);
    this.#anyCharacter = this.#flags.has('s') ? '.' : '[^\\n]';
  }

  translate(): PostgresPattern {
    const { pattern } = this.#alternatives(0);
    if (this.#position < this.#text.length)
      throw invalidQuery('The regular expression closes a group that is not open.');
    const ignoresCase = this.#flags.has('i');
    const letters = `${ignoresCase ? 'i' : ''}${this.#flags.has('m') ? 'w' : ''}`;
    return { pattern: `***:${letters === '' ? '' : `(?${letters})`}${pattern}`, ignoresCase };
  }

  #alternatives(depth: number): PatternPiece {
    if (depth > LIMITS.patternNesting)
      throw invalidQuery(`A regular expression may be nested at most ${LIMITS.patternNesting} levels deep.`);
    const branches = [this.#branch(depth)];
    while (this.#takeCharacter('|')) branches.push(this.#branch(depth));
    return oneOf(branches);
  }

  #branch(depth: number): PatternPiece {
    const pieces: PatternPiece[] = [];
    while (!this.#isAtEndOfBranch()) pieces.push(this.#quantified(this.#atom(depth)));
    return inSequence(pieces);
  }

  #isAtEndOfBranch(): boolean {
    this.#skipInsignificant();
    const character = this.#text[this.#position];
    return character === undefined || character === '|' || character === ')';
  }

  #atom(depth: number): Atom {
    this.#parts += 1;
    if (this.#parts > LIMITS.patternParts) throw tooLong();
    const character = String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0);
    if (character === '(') return this.#group(depth);
    if (character === '[') return this.#character(parseCharacterClass(this.#text, this.#position));
    if (character === '\\') return this.#escape();
    if (this.#take(QUANTIFIER) !== undefined)
      throw invalidQuery('A quantifier of the regular expression has no part to repeat.');
    const end = this.#position + character.length;
    if (character === '^' || character === '$') return this.#place({ pattern: character, end });
    return this.#character({ pattern: character === '.' ? this.#anyCharacter : escapeLiteral(character), end });
  }

  #group(depth: number): Atom {
    const opening = this.#take(GROUP);
    if (opening === undefined) throw invalidQuery('A regular expression cannot contain this kind of group.');
    const inner = this.#alternatives(depth + 1);
    if (!this.#takeCharacter(')')) throw invalidQuery('A group of the regular expression is not closed.');
    const [, kind = ':'] = opening;
    const pattern = `(?${kind}${inner.pattern})`;
    if (kind !== ':') return this.#place({ pattern, end: this.#position }, inner.parts);
    return { piece: { ...inner, pattern }, isRepeatable: true };
  }

  #escape(): Atom {
    const escape = parseEscape(this.#text, this.#position);
    return escape.kind === 'place' ? this.#place(escape) : this.#character(escape);
  }

  #character({ pattern, end }: Ending): Atom {
    this.#position = end;
    return { piece: { pattern, parts: 1, holdsPlace: false, canBeEmpty: false }, isRepeatable: true };
  }

  #place({ pattern, end }: Ending, parts = 1): Atom {
    this.#position = end;
    this.#places += 1;
    if (this.#places > LIMITS.patternPlaces) {
      throw invalidQuery(
        `A regular expression may contain at most ${LIMITS.patternPlaces} anchors, word boundaries and look-arounds.`,
      );
    }
    return { piece: { pattern, parts, holdsPlace: true, canBeEmpty: true }, isRepeatable: false };
  }

  /** Greedy and lazy repetitions match the same texts, so the lazy mark is dropped. */
  #quantified({ piece, isRepeatable }: Atom): PatternPiece {
    this.#skipInsignificant();
    const [text, least, most] = this.#take(QUANTIFIER) ?? [];
    if (text === undefined) return piece;
    this.#takeCharacter('?');
    if (!isRepeatable || this.#take(QUANTIFIER) !== undefined)
      throw invalidQuery('The regular expression repeats a part that cannot be repeated.');
    return repeated(piece, { text, least: toNumber(least), most: toNumber(most) });
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

function toNumber(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

const tooLong = () => invalidQuery(`A regular expression may have at most ${LIMITS.patternParts} parts.`);
