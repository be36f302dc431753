import { readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { runGatepost } from './gatepost.js';

const STANDARD_INPUT = 0;

Logger.overrideLogger(false);
// A reader such as `head` that has enough closes its end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit());
process.exitCode = await runGatepost(process.argv.slice(2), {
  env: process.env,
  readInput: () => readFileSync(STANDARD_INPUT),
  writeOutput: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
