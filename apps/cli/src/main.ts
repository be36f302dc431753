import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { Logger } from '@nestjs/common';
import { runGatepost } from './gatepost.js';

const STANDARD_INPUT = 0;

// By default V8 lets garbage grow to about four times the live memory: an import would take twice the memory, at the same speed.
setFlagsFromString('--heap-growing-percent=50');
// Below the threads that hash passwords (priority 10): an import must not delay logins.
if (process.argv[2] === 'import') setPriority(constants.priority.PRIORITY_LOW);
Logger.overrideLogger(false);
for (const stream of [process.stdout, process.stderr])
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // A reader such as `head` may close its end: the command completes its work. A full disk is a failure.
    if (code === 'EPIPE') return;
    if (stream === process.stdout) process.stderr.write(`${outputProblem(code)}\n`);
    process.exit(1);
  });
process.exitCode = await runGatepost(process.argv.slice(2), {
  env: process.env,
  readInput: () => readFileSync(STANDARD_INPUT),
  openInput: () => process.stdin,
  writeOutput: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  isWatched: process.stderr.isTTY,
});

function outputProblem(code = 'unknown error'): string {
  return `The output cannot be written (${code}). The command may have done its work: check before you repeat it.`;
}
