import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { drainConnections } from './http.js';

const FAR_MS = 60_000;
const SOON_MS = 100;

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function closing(server: Server): () => Promise<unknown> {
  return () => new Promise((resolve) => server.close(resolve));
}

describe('drainConnections', () => {
  it('lets a response in progress finish', async () => {
    let finish: (() => void) | undefined;
    const server = createServer((_request, response) => {
      finish = () => response.end('done');
    });
    const port = await listening(server);
    const answer = fetch(`http://127.0.0.1:${port}`).then((response) => response.text());
    await expect.poll(() => finish).toBeDefined();
    const drained = drainConnections(server, closing(server), FAR_MS);
    finish?.();
    expect(await answer).toBe('done');
    await drained;
  });

  it('disconnects a client that does not read its response', async () => {
    const server = createServer((_request, response) => response.end(Buffer.alloc(32 * 1024 * 1024)));
    const client = connect(await listening(server), '127.0.0.1').on('error', () => undefined);
    client.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => server.once('request', resolve));
    await drainConnections(server, closing(server), SOON_MS);
    client.destroy();
  });
});
