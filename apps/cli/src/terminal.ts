import { readFileSync } from 'node:fs';
import { StartError } from '#bootstrap';

const STANDARD_INPUT = 0;
/** Reads a source: the path of a file, or `-` for standard input. */
export type ReadSource = (source: string) => string;

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A text chosen by users, escaped so that it cannot control the terminal. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\p{C}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** The source that an argument names: `@path` a file, `-` standard input. Undefined if the argument is the value itself. */
export function sourceOf(argument: string): string | undefined {
  if (argument === '-') return argument;
  return argument.startsWith('@') ? argument.slice(1) : undefined;
}

/** @throws StartError if the source cannot be read, or is not text */
export function valueFrom(name: string, source: string, read: ReadSource = readText): string {
  try {
    return read(source);
  } catch (cause) {
    const place = source === '-' ? 'standard input' : `the file ${source}`;
    const code = (cause as NodeJS.ErrnoException).code ?? 'not text';
    throw new StartError(`${name}: ${place} cannot be read (${code}).`, { cause });
  }
}

/** Removes the line break that editors put at the end of a file. */
export function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** @throws Error if the source cannot be read, or is not UTF-8 */
function readText(source: string): string {
  const bytes = readFileSync(source === '-' ? STANDARD_INPUT : source);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
