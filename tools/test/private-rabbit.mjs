// A RabbitMQ of a test's own: SIGHUP crashes and restarts it, SIGTERM ends it. Prints its URL each time when it answers.
import { privateServers } from './private-servers.mjs';

const rabbit = await privateServers.rabbitmq();
if (rabbit === undefined) {
  process.stderr.write('rabbitmq-server is not installed.\n');
  process.exit(1);
}
process.on('SIGHUP', async () => {
  await rabbit.restart();
  tell();
});
process.on('SIGTERM', async () => {
  await rabbit.stop();
  process.exit(0);
});
// The server runs in a session of its own, and would not keep us.
setInterval(() => undefined, 60_000);
tell();

function tell() {
  process.stdout.write(`${rabbit.url}\n`);
}
