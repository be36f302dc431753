// A server of a test's own (postgresql, redis or rabbitmq) that keeps on its disk what it has acknowledged. SIGUSR2 crashes it, SIGHUP
// crashes it where it runs and starts it again, SIGTERM ends it. Prints its URL each time when it answers.
import { privateServers } from './private-servers.mjs';

const [kind = ''] = process.argv.slice(2);
const server = await privateServers[kind]?.({ isDurable: true });
if (server === undefined) {
  process.stderr.write(`${kind} is not installed.\n`);
  process.exit(1);
}
// One thing after the other, whenever the signals come.
let last = Promise.resolve();
const then = (step) => {
  last = last.then(step);
};
process.on('SIGUSR2', () => then(server.crash));
process.on('SIGHUP', () =>
  then(async () => {
    await server.crash();
    await server.revive();
    tell();
  }),
);
process.on('SIGTERM', () =>
  then(async () => {
    await server.stop();
    process.exit(0);
  }),
);
// The server runs in a session of its own, and would not keep us.
setInterval(() => undefined, 60_000);
tell();

function tell() {
  process.stdout.write(`${server.url}\n`);
}
