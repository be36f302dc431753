// The load generator, a process of its own: reads its options as JSON from standard input, writes what it saw to standard output.
import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import autocannon from 'autocannon';

/** Stands in a body for an id that no other request has. */
const NEW_ID = '[<id>]';

const { requests: given, connections, ...options } = JSON.parse(await text(process.stdin));
const requests = given.map(withNewIds);
/** Where the next connection begins among the requests: not all with the same. */
let first = 0;
const run = autocannon({
  ...options,
  connections,
  requests,
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

/** The ids are UUIDs, which autocannon's own replacement does not make. Such a request is made anew each time it is sent. */
function withNewIds(request) {
  const { body } = request;
  if (!body?.includes(NEW_ID)) return request;
  return { ...request, setupRequest: (sent) => ({ ...sent, body: body.replaceAll(NEW_ID, randomUUID()) }) };
}
