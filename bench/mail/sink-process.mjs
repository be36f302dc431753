import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** The sink in a process of its own, so that its work is not the sender's. */
export async function startSink(launch) {
  const child = launch('bench/mail/smtp-sink.mjs', {}, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ask = async (message) => {
    const answer = once(child, 'message');
    child.send(message);
    return (await answer)[0];
  };
  const [{ port }] = await once(child, 'message');
  /** The recipients of mails with the times in milliseconds, once this many have arrived. */
  const take = async (count, timeoutMs) => {
    const deadline = performance.now() + timeoutMs;
    while ((await ask('count')).count < count) {
      if (performance.now() > deadline) throw new Error(`not ${count} mails after ${timeoutMs} ms`);
      await sleep(POLL_MS);
    }
    return (await ask('take')).accepted;
  };
  return { url: `smtp://127.0.0.1:${port}`, take };
}
