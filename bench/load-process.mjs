// The load generator, a process of its own: reads its options as JSON from standard input, writes what it saw to standard output.
import { text } from 'node:stream/consumers';
import autocannon from 'autocannon';

const { requests, connections, ...options } = JSON.parse(await text(process.stdin));
/** Where the next connection begins among the requests: not all with the same. */
let first = 0;
const run = autocannon({
  ...options,
  connections,
  requests,
  // It makes each request anew: only where there is something to replace.
  idReplacement: requests.some(({ body }) => body?.includes('[<id>]')),
  setupClient: (client) => {
    client.setRequests([...requests.slice(first), ...requests.slice(0, first)]);
    first = (first + Math.ceil(requests.length / connections)) % requests.length;
  },
});
const fine = [];
const statuses = new Map();
run.on('response', (client, status, bytes, milliseconds) => {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status < 300) fine.push(milliseconds);
});
const { duration, errors } = await run;
fine.sort((a, b) => a - b);
const share = (part) => fine[Math.min(fine.length - 1, Math.floor(fine.length * part))] ?? Number.NaN;
process.stdout.write(
  JSON.stringify({
    served: fine.length,
    perSecond: fine.length / duration,
    p50: share(0.5),
    p99: share(0.99),
    longest: share(1),
    shed: statuses.get(503) ?? 0,
    others: errors + [...statuses].reduce((sum, [status, count]) => sum + (status < 300 ? 0 : count), 0),
  }),
);
