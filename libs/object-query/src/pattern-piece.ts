import { BOUNDS, invalidQuery } from './bounds.js';

/** A piece of a PostgreSQL pattern, and what decides whether PostgreSQL can prepare it in no time. */
export interface PatternPiece {
  readonly pattern: string;
  /** How many parts it has with every repetition written out. */
  readonly parts: number;
  /** Whether something in it matches between characters: an anchor, a word boundary, a look-around. */
  readonly holdsPlace: boolean;
  readonly canBeEmpty: boolean;
}

/** How often a piece may come: `*`, `+`, `?`, or with numbers. */
export interface Quantifier {
  readonly text: string;
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** What PostgreSQL counts up to. */
const MAX_REPETITIONS = 255;

/** The pieces one after the other. @throws AppError INVALID_QUERY beyond a bound */
export function inSequence(pieces: readonly PatternPiece[]): PatternPiece {
  return joined(
    pieces,
    '',
    pieces.every(({ canBeEmpty }) => canBeEmpty),
  );
}

/** One of the pieces. @throws AppError INVALID_QUERY beyond a bound */
export function oneOf(pieces: readonly PatternPiece[]): PatternPiece {
  return joined(
    pieces,
    '|',
    pieces.some(({ canBeEmpty }) => canBeEmpty),
  );
}

/**
 * The piece so many times. PostgreSQL may need minutes, during which it cannot be interrupted, to prepare a loop over places, and seconds for
 * many copies of what can be empty: neither can be asked for.
 * @throws AppError INVALID_QUERY
 */
export function repeated(piece: PatternPiece, quantifier: Quantifier): PatternPiece {
  const { text, least } = quantifier;
  if (piece.holdsPlace && text !== '?') {
    throw invalidQuery(
      'A repeated part of a regular expression cannot hold an anchor, a word boundary or a look-around.',
    );
  }
  return bounded({
    ...piece,
    pattern: `${piece.pattern}${text}`,
    parts: piece.parts * copies(piece, quantifier),
    canBeEmpty: piece.canBeEmpty || text === '*' || text === '?' || least === 0,
  });
}

/** How often the piece is written out. */
function copies({ canBeEmpty }: PatternPiece, { least, most = least }: Quantifier): number {
  if (least === undefined || most === undefined) return 1;
  if (canBeEmpty)
    throw invalidQuery('A part of a regular expression that can be empty cannot be repeated a number of times.');
  if (least > most) throw invalidQuery('A repetition of the regular expression ends before it begins.');
  if (most > MAX_REPETITIONS)
    throw invalidQuery(`A regular expression may repeat a part ${MAX_REPETITIONS} times at most.`);
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
  const { repeatedPatternParts: bound } = BOUNDS;
  if (piece.parts > bound)
    throw invalidQuery(`A regular expression may have ${bound} parts at most, repetitions written out.`);
  return piece;
}
