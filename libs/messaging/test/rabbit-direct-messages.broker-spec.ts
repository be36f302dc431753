import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import amqplib from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { directMessage } from '#contracts';
import { eventually, newNamespace, TcpProxy, testRun } from '#testing';
import { directMessageHandler } from '../src/handlers.js';
import { DirectMessages } from '../src/messaging.module.js';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { openRabbit } from './open-rabbit.js';

const note = directMessage('note.left', z.object({ number: z.number(), padding: z.string().default('') }));
/** Maximum bytes that wait for one process, besides the messages in progress (libs/messaging/README.md). */
const WAITING_BYTES = 64 * 1_024 * 1_024;
const PREFETCH = 64;
/** Longer than the interval at which a process sends itself a message. */
const CHECKED_AFTER_MS = 2_500;

describe('direct messages over RabbitMQ', () => {
  let namespace: string;
  let node: string;
  let proxy: TcpProxy;
  let sending: RabbitTransport;
  let receiving: RabbitTransport;
  let sender: DirectMessages;
  let heard: number[];
  let connections: number;

  const receive = async (handle: (number: number) => Promise<void> | void = () => undefined) => {
    const handler = directMessageHandler(note, ({ number }) => {
      heard.push(number);
      return handle(number);
    });
    new DirectMessages(receiving).receiveAs(node, [handler], () => {
      connections += 1;
    });
    await eventually(() => {
      expect([connections, receiving.isConnected(), sending.isConnected()]).toEqual([1, true, true]);
    });
  };
  const send = (number: number, padding = '') => sender.send(node, note, { number, padding });

  beforeEach(async () => {
    namespace = newNamespace();
    node = randomUUID();
    proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    sending = openRabbit(namespace);
    receiving = openRabbit(namespace, proxy.urlFor(testRun().amqpUrl));
    sender = new DirectMessages(sending);
    heard = [];
    connections = 0;
  });
  afterEach(async () => {
    proxy.bringBack();
    await receiving.close();
    await sending.close();
    await proxy.close();
  });

  it('arrive again after the connection was lost, and the process is told that some may be missing', async () => {
    await receive();
    proxy.takeAway();
    await eventually(() => {
      expect(receiving.isConnected()).toBe(false);
    });
    await send(1);
    proxy.bringBack();
    await eventually(() => {
      expect([connections, receiving.isConnected()]).toEqual([2, true]);
    });
    await send(2);
    await eventually(() => {
      expect(heard.at(-1)).toBe(2);
    });
  });

  it('arrive on the new connection while the broker still considers the old one open', async () => {
    await receive();
    proxy.silence();
    const successor = openRabbit(namespace);
    const heardBySuccessor: number[] = [];
    const handler = directMessageHandler(note, ({ number }) => {
      heardBySuccessor.push(number);
    });
    new DirectMessages(successor).receiveAs(node, [handler], () => undefined);
    await eventually(async () => {
      await send(1);
      expect(heardBySuccessor).toContain(1);
    });
    expect(heard).toEqual([]);
    proxy.bringBack();
    await successor.close();
  });

  it('are refused while too many wait for a slow process, and accepted again afterwards', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await receive(() => held);
    const padding = 'x'.repeat(1_024 * 1_024);
    const accepted = PREFETCH + WAITING_BYTES / padding.length;
    let refused: unknown;
    for (let number = 0; number <= accepted + 1 && refused === undefined; number += 1)
      await send(number, padding).catch((error: unknown) => (refused = error));
    expect(refused).toMatchObject({ errorName: 'SERVICE_UNAVAILABLE', status: 503 });
    await eventually(() => {
      expect(heard).toHaveLength(PREFETCH);
    });
    // The broker refuses the process's own message, too, which is no reason to open its queue again.
    await sleep(CHECKED_AFTER_MS);
    release();
    await eventually(() => send(1_000));
    await eventually(() => {
      expect(heard.at(-1)).toBe(1_000);
    });
    expect(connections).toBe(1);
  });

  it('are refused while the broker is unavailable', async () => {
    await receive();
    const cut = new DirectMessages(receiving);
    proxy.takeAway();
    await eventually(() => {
      expect(receiving.isConnected()).toBe(false);
    });
    await expect(cut.send(node, note, { number: 1, padding: '' })).rejects.toMatchObject({
      errorName: 'SERVICE_UNAVAILABLE',
    });
    proxy.bringBack();
    // The publishing connection may recover before the consuming one.
    await eventually(async () => {
      await cut.send(node, note, { number: 2, padding: '' });
      expect(heard.at(-1)).toBe(2);
    });
  });

  it('arrive again after their exchange was deleted, and the process is told that some may be missing', async () => {
    await receive();
    const broker = await amqplib.connect(testRun().amqpUrl);
    await (await broker.createChannel()).deleteExchange(`${namespace}.nodes`);
    await broker.close();
    await eventually(() => {
      expect([connections, receiving.isConnected()]).toEqual([2, true]);
    });
    await eventually(() => send(1));
    await eventually(() => {
      expect(heard).toEqual([1]);
    });
  });

  it('are dropped where the process has ended', async () => {
    await receive();
    await receiving.close();
    await send(1);
    expect(heard).toEqual([]);
  });
});
