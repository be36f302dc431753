// Starts servers in throw-away containers, where a Docker engine runs.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { untilAnswers } from './probe.mjs';

const execute = promisify(execFile);

const START_TIMEOUT_MS = 120_000;
const CONTAINERS = {
  postgresql: {
    image: 'postgres:17-alpine',
    port: 5432,
    env: ['POSTGRES_PASSWORD=postgres'],
    url: (address) => `postgres://postgres:postgres@${address}/postgres`,
  },
  redis: { image: 'redis:7-alpine', port: 6379, env: [], url: (address) => `redis://${address}` },
  rabbitmq: { image: 'rabbitmq:4-alpine', port: 5672, env: [], url: (address) => `amqp://guest:guest@${address}` },
};

/** Whether an engine runs that we may use. */
export async function isDockerUsable() {
  return execute('docker', ['info'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

/** Starts a server of the kind in a container of its own. Resolves when it answers. */
export async function startContainer(kind) {
  const { image, port, env, url } = CONTAINERS[kind];
  const flags = ['--detach', '--rm', '--publish', `127.0.0.1::${port}`, ...env.flatMap((pair) => ['--env', pair])];
  const { stdout } = await execute('docker', ['run', ...flags, image]);
  const id = stdout.trim().split('\n').at(-1);
  const stop = () => execute('docker', ['rm', '--force', '--volumes', id]).then(() => undefined);
  try {
    const published = await execute('docker', ['port', id, String(port)]);
    const address = published.stdout.trim().split('\n')[0];
    await untilAnswers(kind, url(address), START_TIMEOUT_MS);
    return { url: url(address), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}
