// Measures everyone who serves accounts, round by round in turn.
import { setTimeout as sleep } from 'node:timers/promises';
import { CASES } from '../cases.mjs';
import { IDLE_SECONDS, restart, startContestants } from '../contestants.mjs';
import { measure, warmUp } from '../load.mjs';
import { memoryMb, processorSeconds, untilQuiet } from '../process-usage.mjs';
import { parseServer } from './parse-server.mjs';

/**
 * The measurements of each round: `results` of every case at every number of `connections`, `starts` in milliseconds, and the `memory` of
 * all contestants.
 */
export async function measureAccounts({ names, connections, rounds, seconds }) {
  const contestants = await startContestants([parseServer]);
  const { list } = contestants;
  try {
    const starts = await measureStarts(list, rounds);
    await sleep(IDLE_SECONDS * 1000);
    const idle = new Map(list.map(({ kind, processes }) => [kind, memoryMb(processes)]));
    const results = [];
    for (const name of names) results.push(...(await measureCase({ name, list, connections, rounds, seconds })));
    const memory = list.map(({ kind, processes }) => ({
      kind,
      idleMb: idle.get(kind),
      loadedMb: memoryMb(processes),
    }));
    return { results, starts, memory };
  } finally {
    await contestants.stop();
  }
}

/** Milliseconds from the start of its processes until a contestant serves, on data that are there. */
async function measureStarts(list, rounds) {
  const starts = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const contestant of list) {
      process.stderr.write(`cold start: ${contestant.kind}, round ${round} of ${rounds}\n`);
      starts.push({ kind: contestant.kind, milliseconds: await restart(contestant) });
    }
  }
  return starts;
}

async function measureCase({ name, list, connections, rounds, seconds }) {
  const results = [];
  for (const entrant of list) await warmUp(CASES[name], entrant);
  for (let round = 1; round <= rounds; round += 1) {
    for (const inFlight of connections) {
      for (const entrant of list) {
        process.stderr.write(`${name}, ${inFlight} in flight: ${entrant.kind}, round ${round} of ${rounds}\n`);
        const measured = await measureOnce({ ...CASES[name], connections: inFlight }, entrant, seconds);
        results.push({ name, inFlight, kind: entrant.kind, ...measured });
      }
    }
  }
  return results;
}

/**
 * As `measure`, with the processor time of one request that was served, over all processes and servers that have to do with it, in
 * milliseconds. Ends when what the load has left behind is done: it would take the processors from the next one.
 */
async function measureOnce(benchCase, entrant, seconds) {
  const used = () => sum([...entrant.processes, ...entrant.servers].map(processorSeconds));
  const before = used();
  const result = await measure(benchCase, entrant, seconds);
  const processorMs = ((used() - before) * 1000) / result.served;
  await untilQuiet(entrant.processes);
  return { ...result, processorMs };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
