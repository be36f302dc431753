import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { GatepostServer } from './gatepost-server.js';
import { TestProcess } from './test-process.js';

const HOST = fileURLToPath(new URL('../../../tools/test/command-host.mjs', import.meta.url));

/** The end of a command, and its output. */
export interface CommandOutcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Server = Pick<GatepostServer, 'env'>;

/** Runs a command of the operator's command line against the server, in a process that the test file's commands share. */
export function gatepost(server: Server, ...args: string[]): Promise<CommandOutcome> {
  return gatepostReading('', server, ...args);
}

/** The same, with a text on its standard input. */
export function gatepostReading(input: string, { env }: Server, ...args: string[]): Promise<CommandOutcome> {
  host ??= new CommandHost();
  return host.run(args, env, input);
}

/** The same in a process of its own, as an operator runs it. */
export async function gatepostProcess(
  { env }: Server,
  args: readonly string[],
  input?: string,
): Promise<CommandOutcome> {
  const command = TestProcess.start('tools/gatepost.mjs', args, env, input);
  const { status } = await command.exited;
  return { status, stdout: command.stdout, stderr: command.stderr };
}

interface Reply {
  readonly id: number;
  readonly outcome: CommandOutcome;
}

interface PendingCommand {
  readonly resolve: (outcome: CommandOutcome) => void;
  readonly reject: (error: Error) => void;
}

/** Ends with the process of the test file. */
class CommandHost {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingCommand>();
  #lastId = 0;

  constructor() {
    this.#child = fork(HOST, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] });
    this.#child.on('message', ({ id, outcome }: Reply) => {
      this.#pending.get(id)?.resolve(outcome);
      this.#pending.delete(id);
    });
    this.#child.once('exit', (status) => {
      host = undefined;
      for (const { reject } of this.#pending.values())
        reject(new Error(`the process of operator commands ended with status ${status}`));
    });
    this.#child.unref();
    this.#child.channel?.unref();
  }

  run(args: readonly string[], env: Server['env'], input: string): Promise<CommandOutcome> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, args, env, input });
    });
  }
}

let host: CommandHost | undefined;
