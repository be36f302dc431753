import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';

const INVALID_UTF8 = 'ERR_ENCODING_INVALID_ENCODED_DATA';
/** Reads a source: the path of a file, or `-` for standard input. */
export type ReadSource = (source: string) => string;

/** Surroundings of one command: one process can run several. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readInput(): Uint8Array;
  /** For input that can be large. */
  openInput(): Readable;
  writeOutput(text: string): void;
  writeError(text: string): void;
  /** Whether standard error is a terminal, on which a line may change. */
  readonly isWatched?: boolean;
}

interface RunningCommand {
  readonly terminal: Terminal;
  status: number;
}

const running = new AsyncLocalStorage<RunningCommand>();

/** @param onFailure prints the error @returns the exit status: what `reportFailure` has set, else that of the failure, or 0 */
export async function runCommand(
  terminal: Terminal,
  work: () => Promise<unknown>,
  onFailure: (error: unknown) => number,
): Promise<number> {
  const command = { terminal, status: 0 };
  try {
    await running.run(command, work);
  } catch (error) {
    const status = onFailure(error);
    return command.status === 0 ? status : command.status;
  }
  return command.status;
}

export function print(line: string): void {
  runningCommand().terminal.writeOutput(`${line}\n`);
}

export function printAside(text: string): void {
  runningCommand().terminal.writeError(text);
}

export function isWatched(): boolean {
  return runningCommand().terminal.isWatched === true;
}

export function reportFailure(status = 1): void {
  runningCommand().status = status;
}

export function openInput(): Readable {
  return runningCommand().terminal.openInput();
}

export function readInput(): Uint8Array {
  return runningCommand().terminal.readInput();
}

function runningCommand(): RunningCommand {
  const command = running.getStore();
  if (command === undefined) throw new Error('no command runs');
  return command;
}

/** The source that an argument names: `@path` or `-`; undefined if the argument is the value itself. */
export function sourceOf(argument: string): string | undefined {
  if (argument === '-') return argument;
  return argument.startsWith('@') ? argument.slice(1) : undefined;
}

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

/** Writes a text to a file, and reports it. @throws StartError */
export function writeFile(file: string, name: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw new StartError(`The ${name} could not be written: ${messageOf(cause)}`, { cause });
  }
  print(`\nThe ${name} is in ${file}.`);
}

export function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function readText(source: string): string {
  const bytes = source === '-' ? runningCommand().terminal.readInput() : readFileSync(source);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** npm passes on the signal of the terminal, which the command has got already. */
const REPEATED_MS = 1_000;

/** Another signal, a second after the first one, ends the process at once. @returns a function that removes the handlers */
export function onInterruption(signals: readonly NodeJS.Signals[], work: () => void): () => void {
  let isBegun = false;
  const stop = () => {
    for (const signal of signals) process.off(signal, begin);
  };
  const begin = () => {
    if (isBegun) return;
    isBegun = true;
    setTimeout(stop, REPEATED_MS).unref();
    work();
  };
  for (const signal of signals) process.on(signal, begin);
  return () => {
    if (!isBegun) stop();
  };
}

const WATCHED_INTERVAL_MS = 500;
const LOGGED_INTERVAL_MS = 15_000;
const SECOND_MS = 1_000;
const MINUTE_S = 60;
const CLEARED_LINE = '\r\u001b[K';
const DEFAULT_WIDTH = 200;

/** Progress on standard error: one changing line on a terminal, else a line every 15 seconds. */
export class ProgressLine {
  readonly #isWatched = isWatched();
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #isOpen = false;

  constructor(private readonly text: (seconds: number) => string) {
    const interval = this.#isWatched ? WATCHED_INTERVAL_MS : LOGGED_INTERVAL_MS;
    this.#timer = setInterval(() => {
      this.#draw();
    }, interval);
    this.#timer.unref();
  }

  say(line: string): void {
    this.#clear();
    printAside(`${line}\n`);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #clear(): void {
    if (this.#isOpen) printAside(CLEARED_LINE);
    this.#isOpen = false;
  }

  #draw(): void {
    const line = this.text((performance.now() - this.#startMs) / SECOND_MS);
    if (this.#isWatched) printAside(`${CLEARED_LINE}${line.slice(0, process.stderr.columns || DEFAULT_WIDTH)}`);
    else printAside(`${line}\n`);
    this.#isOpen = this.#isWatched;
  }
}

/** A duration such as `40 s`, `12 min` or `3 h 5 min`. */
export function spanOf(seconds: number): string {
  const minutes = Math.floor(seconds / MINUTE_S);
  if (minutes === 0) return `${Math.ceil(seconds)} s`;
  const hours = Math.floor(minutes / MINUTE_S);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % MINUTE_S} min`;
}
