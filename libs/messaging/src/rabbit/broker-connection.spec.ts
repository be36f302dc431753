import { on, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { loginOf, openConnection } from './broker-connection.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Each attempt fails as `refuse` says. */
async function openRefused(refuse: (socket: Socket) => unknown) {
  const broker = createServer(refuse).listen(0, '127.0.0.1');
  await once(broker, 'listening');
  const { port } = broker.address() as AddressInfo;
  const connection = openConnection(`amqp://127.0.0.1:${port}`, 'sample');
  onTestFinished(async () => {
    await connection.close();
    broker.close();
  });
  return connection;
}

it('logs an outage once, and again where its reason changes', { timeout: 20_000 }, async () => {
  const warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue();
  let attempts = 0;
  const connection = await openRefused((socket) => {
    attempts += 1;
    if (attempts <= 2) socket.end();
    else socket.resetAndDestroy();
  });
  let failures = 0;
  for await (const _ of on(connection, 'connectFailed')) {
    failures += 1;
    if (failures === 3) break;
  }
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/^sample: cannot connect: .*closed/)],
    [expect.stringMatching(/^sample: cannot connect: .*ECONNRESET/)],
  ]);
});

it.each([
  ['amqp://ada:p%C3%A9%40%25@host/shop', 'pé@%'],
  ['amqp://ada:pé@host', 'pé'],
  ['amqp://ada:50%off@host', '50%off'],
])('logs in with the password of %s in UTF-8', (url, password) => {
  expect(loginOf(url).credentials?.response().toString()).toBe(`\0ada\0${password}`);
});
