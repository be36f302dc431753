import { once } from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboundClient } from '#outbound';
import { selfSignedCertificate } from '#testing';
import { PushServices } from './push-services.js';

const certificate = selfSignedCertificate();

/** Trusts the certificate of the test; the first protocol that the server has of those that are offered is used. */
class TestOutbound {
  readonly connections: (string | false | null)[] = [];
  readonly sentByHttp1: string[] = [];

  async connect({ port }: URL): Promise<tls.TLSSocket> {
    const ALPNProtocols = ['h2', 'http/1.1'];
    const socket = tls.connect({ port: Number(port), servername: 'localhost', ca: certificate.cert, ALPNProtocols });
    await once(socket, 'secureConnect');
    this.connections.push(socket.alpnProtocol);
    return socket;
  }

  send: OutboundClient['send'] = ({ pathname }) => {
    this.sentByHttp1.push(pathname);
    return Promise.resolve({ status: 201, text: 'by HTTP/1.1', retryAfter: undefined });
  };
}

describe('the push services of browsers', () => {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let services: PushServices | undefined;

  const listen = async (listening: Server, timeoutMs = 10_000) => {
    server = listening;
    listening.on('secureConnection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const outbound = new TestOutbound();
    services = new PushServices(outbound, { timeoutMs });
    const origin = `https://localhost:${(listening.address() as AddressInfo).port}`;
    const send = (path: string) =>
      services!.send(new URL(path, origin), {
        method: 'POST',
        headers: { ttl: '60' },
        body: Buffer.from('sealed'),
      });
    return { outbound, send };
  };

  afterEach(() => {
    services?.close();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server?.close();
  });

  it('get many requests at once over two connections', async () => {
    const seen: http2.IncomingHttpHeaders[] = [];
    const speaking = http2.createSecureServer({ ...certificate, settings: { maxConcurrentStreams: 10 } });
    let sessions = 0;
    const areBothOpen = new Promise<void>((resolve) =>
      speaking.on('session', () => {
        sessions += 1;
        if (sessions === 2) resolve();
      }),
    );
    speaking.on('stream', (stream, headers) => {
      seen.push(headers);
      void areBothOpen.then(() => {
        stream.respond({ ':status': 201, 'retry-after': '7' });
        stream.end('taken');
      });
    });
    const { outbound, send } = await listen(speaking);
    const answers = await Promise.all(Array.from({ length: 60 }, (_, place) => send(`/push/${place}?a=b`)));
    expect(answers).toEqual(answers.map(() => ({ status: 201, text: 'taken', retryAfter: '7' })));
    expect(seen.map((headers) => headers[':path']).toSorted()).toEqual(
      answers.map((_, place) => `/push/${place}?a=b`).toSorted(),
    );
    expect(seen[0]).toMatchObject({ ':method': 'POST', ttl: '60', 'content-length': '6', 'user-agent': 'Gatepost' });
    expect(outbound.connections).toEqual(['h2', 'h2']);
  });

  it('that speak HTTP/1.1 alone get requests by it, and are asked for HTTP/2 once', async () => {
    const { outbound, send } = await listen(https.createServer(certificate));
    for (const path of ['/1', '/2'])
      expect(await send(path)).toEqual({ status: 201, text: 'by HTTP/1.1', retryAfter: undefined });
    expect([outbound.sentByHttp1, outbound.connections]).toEqual([['/1', '/2'], ['http/1.1']]);
  });

  it.each([
    ['permit no request', 0, 'no free stream in time'],
    ['do not answer', 10, 'no answer in time'],
  ])('that %s hold up nothing for longer than the limits', async (_, maxConcurrentStreams, reason) => {
    const silent = http2.createSecureServer({ ...certificate, settings: { maxConcurrentStreams } });
    const { send } = await listen(silent, 500);
    await expect(send('/')).rejects.toThrow(reason);
  });
});
