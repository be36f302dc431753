// A server of a test's own (postgresql, redis, sentinel or rabbitmq) that keeps on its disk what it has acknowledged. SIGUSR2 crashes it,
// SIGHUP crashes it where it runs and starts it again, SIGTERM and SIGINT end it. Prints its URL each time when it answers, and
// for RabbitMQ first the path of a script that is its rabbitmqctl. Further arguments are lines of the configuration of redis and sentinel.
import { privateServers } from './private-servers.mjs';

const [kind = '', ...settings] = process.argv.slice(2);
let server;
// One step after the other, even if signals arrive: a signal during the start waits for it. A failure ends the server.
let last = Promise.resolve();
const then = (step) => {
  last = last.then(step).catch(giveUp);
};
process.on('SIGUSR2', () => then(() => server.crash()));
process.on('SIGHUP', () =>
  then(async () => {
    await server.crash();
    await server.revive();
    report();
  }),
);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => then(() => end(0)));
// The server runs in a session of its own, and would not keep us.
setInterval(() => undefined, 60_000);
then(async () => {
  server = await privateServers[kind]?.({ isDurable: true, settings });
  if (server === undefined) throw new Error(`${kind} is not installed.`);
  if (server.control !== undefined) process.stdout.write(`control ${server.control}\n`);
  report();
});

async function giveUp(error) {
  process.stderr.write(`${error.message}\n`);
  await end(1);
}

async function end(status) {
  // A server that cannot be stopped is reported, and is no reason to stay.
  await server?.stop().catch((error) => process.stderr.write(`${error.message}\n`));
  process.exit(status);
}

function report() {
  process.stdout.write(`${server.url}\n`);
}
