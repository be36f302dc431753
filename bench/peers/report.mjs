// The measurements of accounts as Markdown, compared with the targets.
import { table } from '../../tools/markdown.mjs';
import { CASES } from '../cases.mjs';
import { median } from '../load.mjs';
import { verdict } from '../report.mjs';
import { PARSE_SERVER } from './parse-server.mjs';
import { MAX_ME_PROCESSOR_MS, TARGETS } from './targets.mjs';

const TITLES = { bare: 'Fastify + pg', services: 'services', standalone: 'standalone', parse: PARSE_SERVER };
const KINDS = Object.keys(TITLES);
const HEAD = [
  'in flight',
  'server',
  'requests/s',
  'beside Parse Server',
  'p50 ms',
  'p99 ms',
  'longest ms',
  'processor ms',
  '503',
  'other',
  'target',
];

/** The measurements by section of docs/benchmarks.md: one section for each case, then starts and memory. */
export function accountsReport({ names, connections, results, starts, memory, hashRate }) {
  const of = (row) => medians(results.filter((one) => isSame(one, row)));
  const cases = names.map((name) => [name, caseReport({ name, connections, of, hashRate })]);
  return new Map([...cases, ['starts', startsAndMemory(starts, memory)]]);
}

function isSame(one, row) {
  return one.name === row.name && one.kind === row.kind && one.inFlight === row.inFlight;
}

function medians(rows) {
  const of = (field) => median(rows.map((row) => row[field]));
  const all = (field) => rows.reduce((sum, row) => sum + row[field], 0);
  return {
    ...Object.fromEntries(['perSecond', 'p50', 'p99', 'processorMs'].map((field) => [field, of(field)])),
    longest: Math.max(...rows.map(({ longest }) => longest)),
    shed: all('shed'),
    others: all('others') - all('shed'),
  };
}

function caseReport({ name, connections, of, hashRate }) {
  const lines = connections.flatMap((inFlight) =>
    KINDS.map((kind) => caseLine({ kind, inFlight, name, of, hashRate })),
  );
  const notes = [
    ...(name === 'me' ? [processorTarget(connections, of)] : []),
    ...(CASES[name].leastSeconds === undefined ? [] : [hashNote(hashRate)]),
  ];
  return [table(HEAD, lines), ...notes].join('\n\n');
}

function hashNote(hashRate) {
  return `All cores together hash ${hashRate.toFixed(1)} passwords a second (bcrypt, cost 10, nothing else running).`;
}

function caseLine({ kind, inFlight, name, of, hashRate }) {
  const row = of({ name, kind, inFlight });
  const parse = of({ name, kind: 'parse', inFlight });
  return [
    inFlight,
    TITLES[kind],
    row.perSecond.toFixed(row.perSecond < 100 ? 1 : 0),
    kind === 'parse' ? '' : `${(row.perSecond / parse.perSecond).toFixed(2)} ×`,
    milliseconds(row.p50),
    milliseconds(row.p99),
    milliseconds(row.longest),
    row.processorMs.toFixed(2),
    row.shed,
    row.others,
    compared(TARGETS[kind]?.[name]?.[inFlight], row, parse, hashRate),
  ];
}

function compared(target, row, parse, hashRate) {
  if (target === undefined) return '';
  const checks = [
    target.rate === undefined || [`≥ ${target.rate} ×`, row.perSecond >= target.rate * parse.perSecond],
    target.p50 === undefined || [`p50 ≤ ${target.p50} ×`, row.p50 <= target.p50 * parse.p50],
    target.hashRate === undefined || [
      `≥ ${target.hashRate * 100} % of ${hashRate.toFixed(1)}/s`,
      row.perSecond >= target.hashRate * hashRate,
    ],
    target.longestMs === undefined || [`longest ≤ ${target.longestMs / 1000} s`, row.longest <= target.longestMs],
  ];
  return checks
    .filter((check) => check !== true)
    .map(([text, isMet]) => `${text}: ${verdict(isMet)}`)
    .join('; ');
}

/** The cost of `users/me` at 32 in flight, or at what comes nearest. */
function processorTarget(connections, of) {
  const inFlight = connections.includes(32) ? 32 : connections.at(-1);
  const { processorMs } = of({ name: 'me', kind: 'services', inFlight });
  const target = `target ≤ ${MAX_ME_PROCESSOR_MS} ms: ${verdict(processorMs <= MAX_ME_PROCESSOR_MS)}`;
  return `One \`users/me\` costs the services ${processorMs.toFixed(2)} ms of processor time, database, broker and Redis included (${target}).`;
}

function startsAndMemory(starts, memory) {
  const lines = memory.map(({ kind, idleMb, loadedMb }) => {
    const startMs = median(starts.filter((start) => start.kind === kind).map((start) => start.milliseconds));
    return [TITLES[kind], (startMs / 1000).toFixed(1), idleMb.toFixed(0), loadedMb.toFixed(0)];
  });
  return table(['server', 'serves after s', 'MB idle', 'MB after the load'], lines);
}

function milliseconds(value) {
  return value < 10 ? value.toFixed(2) : value.toFixed(0);
}
