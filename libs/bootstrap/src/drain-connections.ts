import type { Server } from 'node:http';

const IDLE_CONNECTION_POLL_MS = 50;
/** As long as a service waits for the work in its hands. */
const DRAIN_LIMIT_MS = 15_000;

/**
 * Closes a server while its connections end: one that is busy would be kept alive by its client after its answer, so it goes
 * as soon as it is idle. One that takes its answer too slowly is cut off; it would keep the process for ever.
 */
export async function drainConnections(
  server: Server,
  close: () => Promise<unknown>,
  limitMs = DRAIN_LIMIT_MS,
): Promise<void> {
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_CONNECTION_POLL_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
  }, limitMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(limit);
  }
}
