// Runs commands of the operator's command line for a test file, all in this process: one process for each would cost a second.
import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ensureBuilt } from '../prepare.mjs';

ensureBuilt();
const { runGatepost } = await import('../../dist/apps/cli/src/gatepost.js');

Logger.overrideLogger(false);
process.on('disconnect', () => process.exit(0));
process.on('message', async ({ id, args, env, input }) => {
  let [stdout, stderr] = ['', ''];
  const status = await runGatepost(args, {
    env,
    readInput: () => Buffer.from(input),
    openInput: () => Readable.from([Buffer.from(input)]),
    writeOutput: (text) => (stdout += text),
    writeError: (text) => (stderr += text),
  });
  process.send({ id, outcome: { status, stdout, stderr } });
});
