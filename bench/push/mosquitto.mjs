// Mosquitto as the push server that Gatepost is compared with: QoS 1, sessions that outlive connections, nothing on disk.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mqtt from 'mqtt';
import { freePort } from '../bench-run.mjs';
import { ID_LENGTH, TOPIC_OF_ALL } from './mqtt-device.mjs';

const POLL_MS = 50;

export function isMosquittoInstalled() {
  return spawnSync('mosquitto', ['-h']).error === undefined;
}

export async function startMosquitto(folder) {
  const port = await freePort();
  const config = join(folder, 'mosquitto.conf');
  writeFileSync(
    config,
    [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'persistence false',
      'set_tcp_nodelay true',
      // As many on the way to a device as Gatepost sends, and no bound for what waits.
      'max_inflight_messages 32',
      'max_queued_messages 0',
      'log_type error',
      '',
    ].join('\n'),
  );
  const child = spawn('mosquitto', ['-c', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  await listening(port);
  const publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`);
  let published = 0;
  const publish = async (topic, qos) => {
    published += 1;
    const id = String(published).padStart(ID_LENGTH, '0');
    await publisher.publishAsync(topic, id.padEnd(256, '.'), { qos });
    return id;
  };
  return {
    kind: 'mosquitto',
    title: 'Mosquitto',
    server: child,
    device: { kind: 'mosquitto', port },
    pushToAll: (qos = 1) => publish(TOPIC_OF_ALL, qos),
    /** @returns the message's id, once the server has accepted it */
    pushToOne: (name) => publish(name, 1),
    async stop() {
      await publisher.endAsync(true);
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

async function listening(port) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const isThere = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.unref();
    });
    if (isThere) return;
    await sleep(POLL_MS);
  }
  throw new Error('mosquitto does not listen');
}
