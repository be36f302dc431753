import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { testRun } from './test-run.js';

/** The project's folder. */
const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/** How a process ended. */
export interface Exit {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process under test, with its output. `npm test` ends it even if the test fails. */
export class TestProcess {
  readonly exited: Promise<Exit>;
  #stdout = '';
  #stderr = '';

  private constructor(private readonly child: ChildProcess) {
    const note = noteOf(child);
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (this.#stdout += chunk));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.#stderr += chunk));
    this.exited = new Promise((resolve) => {
      child.once('close', (status, signal) => {
        rmSync(note, { force: true });
        resolve({ status, signal });
      });
    });
  }

  /** Starts a script of this project with Node, the given standard input, and nothing in its environment but what is given. */
  static start(
    script: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    input?: string,
  ): TestProcess {
    const child = spawn(process.execPath, [join(ROOT, script), ...args], {
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
      cwd: ROOT,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    // One that ends without reading it is no failure.
    child.stdin?.on('error', () => undefined).end(input);
    return new TestProcess(child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Waits for a text on its standard output. @returns the match */
  untilPrinted(pattern: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> {
    return this.#until(pattern, () => this.#stdout, timeoutMs);
  }

  /** Waits for a text in its log. @returns the match */
  untilLogged(pattern: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> {
    return this.#until(pattern, () => this.#stderr, timeoutMs);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends it as an operator would, and waits for it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.isRunning) this.signal(signal);
    return this.exited;
  }

  async #until(pattern: RegExp, text: () => string, timeoutMs: number): Promise<RegExpExecArray> {
    const match = await eventually(() => {
      const found = pattern.exec(text());
      if (found === null && this.isRunning) throw new Error(`${String(pattern)} is not there yet; ${this.#tail()}`);
      return found;
    }, timeoutMs);
    if (match === null) throw new Error(`the process ended before ${String(pattern)} was there; ${this.#tail()}`);
    return match;
  }

  #tail(): string {
    return `stdout: ${this.#stdout.slice(-2000)} stderr: ${this.#stderr.slice(-4000)}`;
  }
}

/** Whether a process runs. One that has ended and only waits to be noticed does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !readFileSync(stat, 'utf8').includes(') Z ');
}

function noteOf(child: ChildProcess): string {
  const folder = join(testRun().folder, 'processes');
  mkdirSync(folder, { recursive: true });
  const note = join(folder, String(child.pid));
  writeFileSync(note, '');
  return note;
}
