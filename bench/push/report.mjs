// The design's targets, and how the servers stand to them.
import { table } from '../../tools/markdown.mjs';
import { median } from '../load.mjs';
import { verdict } from '../report.mjs';
import { PEERS } from './measure-push.mjs';

const atMost = (limit) => ({ text: `≤ ${limit.toLocaleString('en')}`, isMet: (value) => value <= limit });
const atLeast = (limit) => ({ text: `≥ ${limit.toLocaleString('en')}`, isMet: (value) => value >= limit });
const times = (factor, kind, isMet) => ({
  text: `${isMet(1, 0) ? '≥' : '≤'} ${factor} × ${PEERS[kind].title}`,
  /** Undefined without the other server. */
  isMet: (value, by) => (by[kind] === undefined ? undefined : isMet(value, factor * by[kind])),
});
const atLeastTimes = (factor, kind) => times(factor, kind, (value, limit) => value >= limit);
const atMostTimes = (factor, kind) => times(factor, kind, (value, limit) => value <= limit);
/** A row can have several targets. */
const all = (...targets) => targets;
const either = (one, other) => ({
  text: `${one.text} or ${other.text}`,
  isMet: (value, by) => one.isMet(value, by) || (other.isMet(value, by) ?? false),
});

const ROWS = [
  ['memoryKb', 'memory of an idle connection, kB', 1, atMost(4)],
  ['sendsPerCore', 'frames of a shared message, per second of one core, none acknowledged', 0, atLeast(100_000)],
  ['ackedSendsPerCore', 'the same, all acknowledged', 0, atLeast(45_000)],
  [
    'ackedPerSecond',
    'the same, per second of elapsed time',
    0,
    all(atLeastTimes(0.9, 'mosquitto'), atLeastTimes(1.5, 'mosquitto-disk'), atLeastTimes(1.5, 'rabbitmq')),
  ],
  ['fanOutP50', 'accepted push to the last of 10,000 devices, p50, ms', 0],
  ['fanOutP99', 'the same, p99, ms', 0, either(atMost(250), atMostTimes(2, 'bare'))],
  ['latencyP50', 'accepted push to the frame at one device, p50, ms', 1, atMost(10)],
  ['latencyP99', 'the same, p99, ms', 1, atMost(50)],
  ['enqueuedPerCore', 'messages queued for absent devices, per second of Redis', 0, atLeast(100_000)],
  ['enqueuedPerSecond', 'the same, per second of elapsed time', 0],
  [
    'stormSeconds',
    '10,000 devices with 10 messages each return at once: all delivered after, s',
    2,
    atMostTimes(1, 'mosquitto'),
  ],
  ['stormLost', 'lost meanwhile', 0, atMost(0)],
  ['stormTwice', 'delivered twice meanwhile', 0],
  ['listP99', 'list of 1,000 records of pushes, p99, ms', 0, atMost(100)],
  ['pushP50', 'answer to a push, p50, ms', 1],
  ['pushBesideListP50', 'the same, while one client lists 1,000 records without a pause, p50, ms', 1],
  ['pushBesideListsP50', 'the same, while eight clients list 1,000 records, p50, ms', 1],
  ['pushP99', 'answer to a push, p99, ms', 1],
  ['pushBesideListP99', 'the same, while one client lists 1,000 records without a pause, p99, ms', 1],
  ['pushBesideListsP99', 'the same, while eight clients list 1,000 records, p99, ms', 1],
  ['listsPerSecond', 'such lists meanwhile, per second', 1],
  ['millionFirstMs', 'push with a condition over a million installations: first device after, ms', 0, atMost(1_000)],
  ['millionSeconds', 'all of them after, s', 1],
  ['millionGrowthMb', "growth of the dispatcher's memory meanwhile, MB", 0, atMost(64)],
  ['scaleDevices', 'devices that are away', 0],
  ['scaleAloneP99', 'push to one connected device, request to frame, p99, ms', 0],
  ['scalePerSecond', 'one push to all that are away, devices per second', 0],
  ['scalePerCore', 'the same, per second of Redis', 0],
  ['scaleBytesFirst', "bytes of Redis for a device's first message", 0],
  ['scaleGrowthMb', "growth of the dispatcher's memory meanwhile, MB", 0],
  ['scaleBesideP50', 'push to one connected device meanwhile, p50, ms', 0],
  ['scaleBesideP99', 'the same, p99, ms', 0, atMost(1_000)],
  ['scaleAllPerSecond', 'nine more pushes at once to all that are away, devices per second', 0],
  ['scaleBytesNext', "bytes of Redis for a device's further message", 0],
  ['scaleAllGrowthMb', "growth of the dispatcher's memory meanwhile, MB", 0],
  ['scaleAllBesideP50', 'push to one connected device meanwhile, p50, ms', 0],
  ['scaleAllBesideP99', 'the same, p99, ms', 0, atMost(1_000)],
  ['returnConnectors', '50,000 devices with 10 messages each return at once, to this number of connectors', 0],
  ['returnConnectedSeconds', 'all logged in after, s', 1],
  ['returnSeconds', 'all delivered after, s', 1],
  ['returnLost', 'lost meanwhile', 0, atMost(0)],
  ['returnTwice', 'delivered twice meanwhile', 0],
  ['returnConnectorMb', 'memory of the largest connector then, MB', 0],
];

/** @param results by server, what each round has measured */
export function pushReport(results) {
  const of = (kind, name) => {
    const values = (results[kind] ?? []).map((round) => round[name]).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : median(values);
  };
  const peers = Object.keys(PEERS).filter((kind) => results[kind] !== undefined);
  const lines = ROWS.flatMap(([name, title, digits, target]) => {
    const ours = of('gatepost', name);
    const by = Object.fromEntries(peers.map((kind) => [kind, of(kind, name)]));
    const theirs = peers.map((kind) => shown(by[kind], digits));
    return ours === undefined ? [] : [[title, shown(ours, digits), ...theirs, compared(target, ours, by)]];
  });
  return table(['measure', 'Gatepost', ...peers.map((kind) => PEERS[kind].title), 'target'], lines);
}

function shown(value, digits) {
  if (value === undefined) return '';
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    // Clocks of two processes may be apart by less than what is shown.
    signDisplay: 'negative',
  });
}

function compared(targets = [], ours, by) {
  return [targets]
    .flat()
    .map((target) => ({ text: target.text, isMet: target.isMet(ours, by) }))
    .filter(({ isMet }) => isMet !== undefined)
    .map(({ text, isMet }) => `${text} ${verdict(isMet)}`)
    .join('; ');
}
