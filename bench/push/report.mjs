// The design's targets, and how the servers stand to them.
import { table } from '../../tools/markdown.mjs';
import { median } from '../load.mjs';
import { verdict } from '../report.mjs';

const atMost = (limit) => ({ text: `≤ ${limit.toLocaleString('en')}`, isMet: (value) => value <= limit });
const atLeast = (limit) => ({ text: `≥ ${limit.toLocaleString('en')}`, isMet: (value) => value >= limit });
const timesOther = (factor, isBetter) => ({
  text: `${isBetter(1, 0) ? '≥' : '≤'} ${factor} × Mosquitto`,
  /** Undefined without the other server. */
  isMet: (value, other) => (other === undefined ? undefined : isBetter(value, factor * other)),
});
const atLeastTimesOther = (factor) => timesOther(factor, (value, limit) => value >= limit);
const atMostTimesOther = (factor) => timesOther(factor, (value, limit) => value <= limit);

const ROWS = [
  ['memoryKb', 'memory of an idle connection, kB', 1, atMost(8)],
  ['sendsPerCore', 'frames of a shared message, per second of one core, none acknowledged', 0, atLeast(100_000)],
  ['ackedSendsPerCore', 'the same, all acknowledged', 0, atLeast(40_000)],
  ['ackedPerSecond', 'the same, per second of elapsed time', 0, atLeastTimesOther(1.5)],
  ['fanOutP50', 'accepted push to the last of 10,000 devices, p50, ms', 0],
  ['fanOutP99', 'the same, p99, ms', 0, atMost(250)],
  ['latencyP50', 'accepted push to the frame at one device, p50, ms', 1, atMost(10)],
  ['latencyP99', 'the same, p99, ms', 1, atMost(50)],
  ['enqueuedPerCore', 'messages queued for absent devices, per second of Redis', 0, atLeast(100_000)],
  ['enqueuedPerSecond', 'the same, per second of elapsed time', 0],
  [
    'stormSeconds',
    '10,000 devices with 10 messages each return at once: all delivered after, s',
    2,
    atMostTimesOther(1.3),
  ],
  ['stormLost', 'lost meanwhile', 0, atMost(0)],
  ['stormTwice', 'delivered twice meanwhile', 0],
  ['listP99', 'list of 1,000 records of pushes, p99, ms', 0, atMost(100)],
  ['pushP99', 'answer to a push, p99, ms', 1],
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
  const lines = ROWS.flatMap(([name, title, digits, target]) => {
    const [ours, theirs] = [of('gatepost', name), of('mosquitto', name)];
    return ours === undefined
      ? []
      : [[title, shown(ours, digits), shown(theirs, digits), compared(target, ours, theirs)]];
  });
  return table(['measure', 'Gatepost', 'Mosquitto', 'target'], lines);
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

function compared(target, ours, theirs) {
  const isMet = target?.isMet(ours, theirs);
  return isMet === undefined ? '' : `${target.text} ${verdict(isMet)}`;
}
