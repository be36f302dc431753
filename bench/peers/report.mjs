// The measurements of accounts as Markdown, compared with the targets.
import { table } from '../../tools/markdown.mjs';
import { CASES } from '../cases.mjs';
import { median } from '../load.mjs';
import { verdict } from '../report.mjs';
import { PARSE_SERVER } from './parse-server.mjs';
import { MAX_ME_PROCESSOR_MS, TARGETS } from './targets.mjs';

const TITLES = { bare: 'Fastify + pg', services: 'services', standalone: 'standalone', parse: PARSE_SERVER };
const KINDS = Object.keys(TITLES);

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
  const busy = busyOf(connections);
  const [first, ...rest] = connections;
  const rates = [`requests/s (× Parse Server) at ${first}`, ...rest];
  const latencies = [`p50 ms at ${first}`, ...rest];
  const head = ['server', ...rates, ...latencies, `p99 at ${busy}`, `processor ms at ${busy}`];
  const lines = KINDS.map((kind) => serverLine({ name, kind, connections, of }));
  const notes = [
    targets({ name, connections, of, hashRate }),
    failures({ name, connections, of }),
    ...(name === 'me' ? [processorTarget(connections, of)] : []),
    ...(CASES[name].leastSeconds === undefined ? [] : [hashNote(hashRate)]),
  ].filter((note) => note !== '');
  return [table(head, lines), notes.join(' ')].join('\n\n');
}

/** The requests in flight for which a table shows p99 and processor time. */
function busyOf(connections) {
  return connections.includes(32) ? 32 : connections.at(-1);
}

function serverLine({ name, kind, connections, of }) {
  const row = (inFlight) => of({ name, kind, inFlight });
  const busy = row(busyOf(connections));
  return [
    TITLES[kind],
    ...connections.map((inFlight) => rate(kind, row(inFlight), of({ name, kind: 'parse', inFlight }))),
    ...connections.map((inFlight) => milliseconds(row(inFlight).p50)),
    milliseconds(busy.p99),
    busy.processorMs.toFixed(2),
  ];
}

function rate(kind, row, parse) {
  const perSecond = row.perSecond.toFixed(row.perSecond < 100 ? 1 : 0);
  return kind === 'parse' || kind === 'bare'
    ? perSecond
    : `${perSecond} (${(row.perSecond / parse.perSecond).toFixed(2)})`;
}

function targets({ name, connections, of, hashRate }) {
  const judged = Object.entries(TARGETS).flatMap(([kind, cases]) => {
    const verdicts = connections.flatMap((inFlight) => {
      const rows = { row: of({ name, kind, inFlight }), parse: of({ name, kind: 'parse', inFlight }) };
      return judge(cases[name]?.[inFlight], { ...rows, hashRate, inFlight });
    });
    return verdicts.length === 0 ? [] : [`${TITLES[kind]} ${joined(verdicts)}`];
  });
  return judged.length === 0 ? '' : `Targets: ${judged.join('; ')}.`;
}

function judge(target, { row, parse, hashRate, inFlight }) {
  if (target === undefined) return [];
  const checks = [
    target.rate === undefined || [`≥ ${target.rate} ×`, row.perSecond >= target.rate * parse.perSecond],
    target.p50 === undefined || [`p50 ≤ ${target.p50} ×`, row.p50 <= target.p50 * parse.p50],
    target.hashRate === undefined || [
      `≥ ${target.hashRate * 100} % of ${hashRate.toFixed(1)}/s`,
      row.perSecond >= target.hashRate * hashRate,
    ],
    target.longestMs === undefined || [`longest ≤ ${target.longestMs / 1000} s`, row.longest <= target.longestMs],
  ];
  return checks.filter((check) => check !== true).map(([text, isMet]) => ({ text, verdict: verdict(isMet), inFlight }));
}

/** Verdicts on one target with the same result stand together. */
function joined(verdicts) {
  const same = new Map();
  for (const { text, verdict: result, inFlight } of verdicts) {
    const key = `${text} ${result}`;
    same.set(key, [...(same.get(key) ?? []), inFlight]);
  }
  return [...same].map(([key, inFlight]) => `${key} at ${inFlight.join(' and ')}`).join(', ');
}

/** Requests that were not served, by server and requests in flight. */
function failures({ name, connections, of }) {
  const counts = connections.flatMap((inFlight) =>
    KINDS.flatMap((kind) => {
      const { shed, others } = of({ name, kind, inFlight });
      const texts = [shed > 0 && `${shed} × 503`, others > 0 && `${others} unexpected`].filter(Boolean);
      return texts.length === 0 ? [] : [`${TITLES[kind]} at ${inFlight} ${texts.join(' and ')}`];
    }),
  );
  return counts.length === 0 ? '' : `Not served: ${counts.join(', ')}.`;
}

function hashNote(hashRate) {
  return `All cores together hash ${hashRate.toFixed(1)} passwords a second, nothing else running.`;
}

/** The cost of `users/me` while the services are busy. */
function processorTarget(connections, of) {
  const { processorMs } = of({ name: 'me', kind: 'services', inFlight: busyOf(connections) });
  const target = `target ≤ ${MAX_ME_PROCESSOR_MS} ms: ${verdict(processorMs <= MAX_ME_PROCESSOR_MS)}`;
  return `Processor time of the services: ${processorMs.toFixed(2)} ms (${target}).`;
}

function startsAndMemory(starts, memory) {
  const lines = memory.map(({ kind, idleMb, loadedMb }) => {
    const startMs = median(starts.filter((start) => start.kind === kind).map((start) => start.milliseconds));
    return [TITLES[kind], (startMs / 1000).toFixed(1), idleMb.toFixed(0), loadedMb.toFixed(0)];
  });
  return table(['server', 'ready after s', 'MB idle', 'MB after load'], lines);
}

function milliseconds(value) {
  return value < 10 ? value.toFixed(2) : value.toFixed(0);
}
