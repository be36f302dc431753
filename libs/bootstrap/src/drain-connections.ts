import type { Server } from 'node:http';

const IDLE_CONNECTION_POLL_MS = 50;
/** As long as a service waits for the work in its hands. */
const DRAIN_LIMIT_MS = 15_000;

/**
 * From now on each answer ends its connection. An entrance that keeps connections so gives them back while it can still open
 * others: whatever it sent on one at the moment in which the server closes it would be lost.
 */
export function endKeptConnections(server: Server): void {
  server.prependListener('request', (_request, response) => {
    response.setHeader('Connection', 'close');
  });
}

/** Refuses new connections. Resolves when those that are open have ended. */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

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
