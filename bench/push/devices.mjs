// Thousands of devices in a process of their own. Its parent says by messages what they do, and asks what they got.
import { setTimeout as sleep } from 'node:timers/promises';
import { openMqttDevice } from './mqtt-device.mjs';
import { openWebSocketDevice } from './websocket-device.mjs';

const OPENERS = { websocket: openWebSocketDevice, mqtt: openMqttDevice };
/** A connection that the system's queue had no place for is tried again. */
const RETRY_MS = 100;

const devices = new Map();
let seen = new Map();
let counts;
forget();

function forget() {
  counts = { ready: 0, messages: 0, duplicates: 0, lost: 0, firstAt: 0, lastAt: 0 };
  seen = new Map();
}

const now = () => performance.timeOrigin + performance.now();

/** Opens devices, `atOnce` of them at a time, and is done once all are logged in. */
async function open({ names, atOnce, ...options }) {
  const waiting = [...names];
  const openSome = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) await openUntilReady(name, options);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, names.length) }, openSome));
}

async function openUntilReady(name, options) {
  while (!(await openOne(name, options))) await sleep(RETRY_MS);
  counts.ready += 1;
}

function openOne(name, { kind, reports, ...options }) {
  return new Promise((resolve) => {
    const device = OPENERS[kind](
      { ...options, name },
      {
        ready: () => resolve(true),
        messages: (ids) => note(name, ids, reports),
        closed: () => {
          resolve(false);
          if (devices.get(name) === device && devices.delete(name)) counts.lost += 1;
        },
      },
    );
    devices.set(name, device);
  });
}

function note(name, ids, reports) {
  const at = now();
  const ofDevice = seen.get(name) ?? seen.set(name, new Set()).get(name);
  for (const id of ids) {
    if (ofDevice.has(id)) counts.duplicates += 1;
    else counts.messages += 1;
    ofDevice.add(id);
    if (reports) process.send({ got: id, at });
  }
  counts.firstAt ||= at;
  counts.lastAt = at;
}

function close() {
  const all = [...devices.values()];
  devices.clear();
  for (const device of all) device.close();
}

const commands = { open, forget, close, count: () => counts };

process.on('message', async ({ call, ask, options }) => {
  try {
    process.send({ call, answer: await commands[ask](options) });
  } catch (error) {
    process.send({ call, error: error.stack });
  }
});
process.on('disconnect', () => process.exit());
process.send({ call: 0 });
