import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { lookFromOutside } from './outside.js';

describe('the doctor at an address that is not a gateway', () => {
  let server: Server | undefined;

  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** A server with one answer for every request. @returns its URL */
  const answering = async (text: string) => {
    server = createServer((_request, response) => response.end(text)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it.each(['<html>welcome</html>', 'null', '{}', '{"server":"nowhere"}', '{"server":"ws://127.0.0.1/#push"}'])(
    'reports that %s names no address',
    async (text) => {
      const url = await answering(text);
      const { push } = await lookFromOutside(url, 'app');
      expect(push).toEqual({ url: `${url}/v1/route`, problem: 'it names no address' });
    },
  );

  it('reports why a socket is not opened', async () => {
    const url = await answering('{"server":"ws://127.0.0.1:1/push"}');
    const { push } = await lookFromOutside(url, 'app');
    expect(push?.url).toBe('ws://127.0.0.1:1/push');
    expect(push?.problem).toMatch(/ECONNREFUSED/);
  });
});
