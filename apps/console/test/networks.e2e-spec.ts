import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { eventually } from '#testing';
import { type ConsoleAnswer, TestConsole } from './console-service.js';

let console: TestConsole;

beforeAll(async () => {
  console = await TestConsole.start({
    GATEPOST_CONSOLE_NETWORKS: '198.51.100.0/24, 2001:db8::/32, 203.0.113.7, 127.0.0.1',
    GATEPOST_TRUSTED_PROXIES: '127.0.0.1',
  });
});
afterAll(() => console.stop());

/** The answers to requests of a client for the API, the page and a file of the page. */
function answersTo(forwardedFor: string | undefined): Promise<ConsoleAnswer[]> {
  const visitor = console.visitor();
  const headers = { host: `localhost:${console.port}`, 'x-forwarded-for': forwardedFor };
  return Promise.all([
    visitor.call(consoleApi.getSession, { headers }),
    visitor.call(consoleApi.signIn, { headers, body: { address: 'a@example.com', password: 'x' } }),
    visitor.send('GET', '/', { headers }),
    visitor.send('GET', '/assets/none.js', { headers }),
    visitor.send('OPTIONS', '/api/none', { headers }),
  ]);
}

it.each([undefined, '198.51.100.4', '::ffff:198.51.100.4', '2001:db8::1', '203.0.113.7', '10.0.0.1, 198.51.100.4'])(
  'answers the client %s',
  async (address) => {
    expect((await answersTo(address)).slice(0, 2).map(({ status }) => status)).toEqual([200, 400]);
  },
);

it.each(['203.0.113.8', '2001:db9::1', '198.51.100.4, 203.0.113.8', 'x', 'unknown', '198.51.100.4:443'])(
  'refuses the client %s without a body, and without headers of its own',
  async (address) => {
    for (const { status, text, headers } of await answersTo(address)) {
      expect([status, text]).toEqual([403, '']);
      expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual([]);
    }
  },
);

it('answers to a malformed URL without a body', async () => {
  const { status, text } = await console.visitor().send('GET', '/%zz', { headers: {} });
  expect([status, text]).toEqual([400, '']);
});

it('closes the connection of what no request is, although the client keeps its side open', async () => {
  const accepted = once(console.service.app.getHttpServer(), 'connection') as Promise<[Socket]>;
  const client = connect({ host: '127.0.0.1', port: console.port, allowHalfOpen: true });
  client.write('no request\r\n\r\n');
  const [socket] = await accepted;
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  await eventually(() => {
    expect(socket.destroyed).toBe(true);
  });
  client.destroy();
});

it('answers orchestrators and Prometheus in all networks', async () => {
  const statuses = ['/healthz', '/readyz', '/metrics'].map(async (path) => {
    const { status } = await console.visitor().send('GET', path, { headers: {} });
    return status;
  });
  expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
});
