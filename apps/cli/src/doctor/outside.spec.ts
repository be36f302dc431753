import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { lookFromOutside, outsideFindings, type OutsideView } from './outside.js';

const URL_ = 'https://api.example.com';

describe('the doctor at an address that is not a gateway', () => {
  let server: Server | undefined;

  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** A server with one answer for every request except `/1.1/ping`. @returns its URL */
  const answering = async (text: string, ping = '{"status":"ok"}') => {
    server = createServer(({ url }, response) => response.end(url === '/1.1/ping' ? ping : text));
    server.listen(0, '127.0.0.1');
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

  it('reports a page of HTML in place of the API, and nothing else', async () => {
    const page = '<!doctype html><html lang="en">';
    const url = await answering('{"status":"ok"}', page);
    expect(outsideFindings(await lookFromOutside(url, 'app'), url)).toEqual([
      {
        problem: `${url} does not answer as the API: "another server answers /1.1/ping".`,
        remedy: "Check the proxy in front of it, and that the port is the gateway's, not the console's.",
      },
    ]);
  });

  it('reports why a socket is not opened', async () => {
    const url = await answering('{"server":"ws://127.0.0.1:1/push"}');
    const { push } = await lookFromOutside(url, 'app');
    expect(push?.url).toBe('ws://127.0.0.1:1/push');
    expect(push?.problem).toMatch(/ECONNREFUSED/);
  });
});

describe('the doctor at the public address', () => {
  const view = (change: Partial<OutsideView> = {}): OutsideView => ({
    url: URL_,
    certificate: { problem: undefined, daysLeft: 60 },
    problem: undefined,
    skewMs: 900,
    openPaths: [],
    push: { url: 'wss://api.example.com/push', problem: undefined },
    ...change,
  });

  it('finds nothing if all is well', () => {
    expect(outsideFindings(view(), URL_)).toEqual([]);
    expect(outsideFindings(view({ certificate: undefined, push: undefined }), undefined)).toEqual([]);
  });

  it.each<[Partial<OutsideView>, RegExp]>([
    [{ certificate: { problem: 'self-signed certificate', daysLeft: 60 } }, /not trusted: "self-signed/],
    [{ certificate: { problem: undefined, daysLeft: 13 } }, /expires in 13 days/],
    [{ problem: 'ECONNREFUSED' }, /does not answer as the API: "ECONNREFUSED"/],
    [{ skewMs: -7_000 }, /differs from this machine's by 7 seconds/],
    [{ openPaths: ['/metrics', '/readyz'] }, /api.example.com\/metrics, https:\/\/api.example.com\/readyz/],
    [{ push: { url: 'wss://push.example.com', problem: 'HTTP 502' } }, /accepts no connection: "HTTP 502"/],
    [{ push: { url: 'ws://api.example.com/push', problem: undefined } }, /API is encrypted, but devices/],
  ])('finds %#', (change, problem) => {
    expect(outsideFindings(view(change), URL_).map((finding) => finding.problem)).toEqual([
      expect.stringMatching(problem),
    ]);
  });

  it('finds links that lead to another address', () => {
    expect(outsideFindings(view(), 'https://old.example.com')[0]?.problem).toMatch(
      /links of mails lead to https:\/\/old/,
    );
  });
});
