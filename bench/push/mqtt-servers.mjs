// MQTT servers as push servers: QoS 1, sessions that outlive connections. Mosquitto keeps them in memory, or writes them to its disk every
// second; RabbitMQ writes each message into durable queues before it acknowledges it.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mqtt from 'mqtt';
import { privatePrograms, privateServers } from '../../tools/test/private-servers.mjs';
import { freePort } from '../bench-run.mjs';
import { ID_LENGTH, TOPIC_OF_ALL } from './mqtt-device.mjs';

const POLL_MS = 50;
/** As many on the way to a device as Gatepost sends. */
const IN_FLIGHT = 32;

export function isMosquittoInstalled() {
  return spawnSync('mosquitto', ['-h']).error === undefined;
}

/** @param isDurable whether it writes its sessions and messages to its disk, every second */
export async function startMosquitto({ folder: parent }, { isDurable }) {
  const port = await freePort();
  const folder = join(parent, `mosquitto-${port}`);
  mkdirSync(folder);
  // As root, it changes its user.
  chmodSync(folder, 0o777);
  const config = join(folder, 'mosquitto.conf');
  const durability = isDurable ? ['persistence true', 'autosave_interval 1'] : ['persistence false'];
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    ...durability,
    `persistence_location ${folder}/`,
    'set_tcp_nodelay true',
    `max_inflight_messages ${IN_FLIGHT}`,
    // No bound for what waits.
    'max_queued_messages 0',
    'log_type error',
    '',
  ];
  writeFileSync(config, lines.join('\n'));
  const child = spawn('mosquitto', ['-c', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  await listening(port);
  const publisher = await publisherOf(port);
  return {
    server: child,
    device: { kind: 'mqtt', port, keepsSession: isDurable },
    ...publisher,
    async stop() {
      await publisher.stop();
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

export function isRabbitInstalled() {
  return privatePrograms.rabbitmq() !== undefined;
}

/** A RabbitMQ of its own with the MQTT plugin that ships with it. */
export async function startRabbit() {
  const port = await freePort();
  const settings = [
    `mqtt.listeners.tcp.1 = 127.0.0.1:${port}`,
    'mqtt.allow_anonymous = true',
    `mqtt.prefetch = ${IN_FLIGHT}`,
    'mqtt.tcp_listen_options.backlog = 4096',
    'mqtt.tcp_listen_options.nodelay = true',
  ];
  const server = await privateServers.rabbitmq({ plugins: ['rabbitmq_mqtt'], settings });
  await listening(port);
  const publisher = await publisherOf(port);
  return {
    server: { pid: server.pid },
    device: { kind: 'mqtt', port, keepsSession: true },
    ...publisher,
    async stop() {
      await publisher.stop();
      await server.stop();
    },
  };
}

async function publisherOf(port) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 4 });
  let published = 0;
  const publish = async (topic, qos) => {
    published += 1;
    const id = String(published).padStart(ID_LENGTH, '0');
    await client.publishAsync(topic, id.padEnd(256, '.'), { qos });
    return id;
  };
  return {
    keepsMessages: true,
    pushToAll: (qos = 1) => publish(TOPIC_OF_ALL, qos),
    /** @returns the message's id, once the server has accepted it */
    pushToOne: (name) => publish(name, 1),
    stop: () => client.endAsync(true),
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
  throw new Error(`no MQTT server listens on port ${port}`);
}
