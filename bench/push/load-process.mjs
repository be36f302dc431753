import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended } from '../bench-run.mjs';

const POLL_MS = 10;

/** Devices in a process of their own, so that their work is not the server's. */
export async function startDevices(launch) {
  const child = launch('bench/push/devices.mjs', {}, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const calls = new Map();
  const arrived = new Map();
  const awaited = new Map();
  let lastCall = 0;
  await once(child, 'message');
  child.on('message', ({ call, answer, error, got, at }) => {
    if (got !== undefined) {
      arrived.set(got, at);
      awaited.get(got)?.(at);
      return;
    }
    const { resolve, reject } = calls.get(call);
    calls.delete(call);
    if (error === undefined) resolve(answer);
    else reject(new Error(error));
  });
  const ask = (what, options) =>
    new Promise((resolve, reject) => {
      lastCall += 1;
      calls.set(lastCall, { resolve, reject });
      child.send({ call: lastCall, ask: what, options });
    });
  return {
    open: (options) => ask('open', options),
    close: () => ask('close'),
    end: () => ended(child),
    forget: () => ask('forget'),
    /** The time at which one device gets this message, in milliseconds; for devices opened with `reports`. */
    gets: (id) => new Promise((resolve) => (arrived.has(id) ? resolve(arrived.get(id)) : awaited.set(id, resolve))),
    /** The counts once this many messages have arrived, or the time is over. */
    async untilMessages(wanted, timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const counts = await ask('count');
        if (counts.messages >= wanted || performance.now() > deadline) return counts;
        await sleep(POLL_MS);
      }
    },
  };
}

/** Names of devices: `kind0`, `kind1` … */
export function namesOf(kind, count) {
  return Array.from({ length: count }, (_, index) => `${kind}${index}`);
}
