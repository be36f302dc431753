import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { StartError } from '#bootstrap';

/** The code of the error that TextDecoder throws. */
const INVALID_UTF8 = 'ERR_ENCODING_INVALID_ENCODED_DATA';
/** Reads a source: the path of a file, or `-` for standard input. */
export type ReadSource = (source: string) => string;

/** The surroundings of one command. One process can run several, each with its own. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  /** All of its standard input. */
  readInput(): Uint8Array;
  /** Standard input as a stream, for input that can be large. */
  openInput(): Readable;
  writeOutput(text: string): void;
  writeError(text: string): void;
  /** Whether a person watches standard error, so that a line there may change. */
  readonly isWatched?: boolean;
}

interface RunningCommand {
  readonly terminal: Terminal;
  status: number;
}

const running = new AsyncLocalStorage<RunningCommand>();

/**
 * Runs a command.
 * @param onFailure prints the error, and returns its status
 * @returns the status of the process: what `reportFailure` has set; else that of the failure, or 0
 */
export async function runCommand(
  terminal: Terminal,
  work: () => Promise<unknown>,
  onFailure: (error: unknown) => number,
): Promise<number> {
  const command = { terminal, status: 0 };
  try {
    await running.run(command, work);
  } catch (error) {
    // A command that was ended in its middle has set its own status.
    const status = onFailure(error);
    return command.status === 0 ? status : command.status;
  }
  return command.status;
}

export function print(line: string): void {
  runningCommand().terminal.writeOutput(`${line}\n`);
}

/** Writes to standard error: what accompanies the output, but is no part of it. */
export function printAside(text: string): void {
  runningCommand().terminal.writeError(text);
}

/** Whether a person watches standard error. */
export function isWatched(): boolean {
  return runningCommand().terminal.isWatched === true;
}

/** Makes the command end with status 1, or the given one, after its output. */
export function reportFailure(status = 1): void {
  runningCommand().status = status;
}

/** Standard input as a stream. */
export function openInput(): Readable {
  return runningCommand().terminal.openInput();
}

/** All of standard input. */
export function readInput(): Uint8Array {
  return runningCommand().terminal.readInput();
}

function runningCommand(): RunningCommand {
  const command = running.getStore();
  if (command === undefined) throw new Error('no command runs');
  return command;
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
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    const reason = code === INVALID_UTF8 ? 'is not UTF-8 text' : `cannot be read (${code})`;
    throw new StartError(`${name}: ${place} ${reason}.`, { cause });
  }
}

/** Removes the line break that editors put at the end of a file. */
export function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** @throws Error if the source cannot be read, or is not UTF-8 */
function readText(source: string): string {
  const bytes = source === '-' ? runningCommand().terminal.readInput() : readFileSync(source);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
