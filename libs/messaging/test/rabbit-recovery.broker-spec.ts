import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type Channel, type ChannelModel } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newNamespace, testRun } from '#testing';
import { RpcClient } from '../src/messaging.module.js';
import { DeadLetters } from '../src/rabbit/operator-queues.js';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { openRabbit, RETRY_DELAYS_MS } from './open-rabbit.js';
import { SampleBehaviour, sampleEvents, sampleRpc, startSample } from './sample-service.js';

describe('a RabbitMQ channel that is lost while its connection lives', () => {
  const { pattern } = sampleEvents.happened;
  let topology: Topology;
  let asking: RabbitTransport;
  let serving: RabbitTransport;
  let client: RpcClient;
  let connection: ChannelModel;
  let channel: Channel;
  let behaviour: SampleBehaviour;
  let sample: INestMicroservice | undefined;

  const start = async () => {
    sample = await startSample(serving, behaviour);
  };
  const served = () =>
    eventually(async () => {
      expect(await client.call(sampleRpc.echo, { text: 'here' })).toEqual({ text: 'here' });
      expect([asking.isConnected(), serving.isConnected()]).toEqual([true, true]);
    });
  const lost = (transport: RabbitTransport) =>
    eventually(() => {
      expect(transport.isConnected()).toBe(false);
    });
  const publish = () => asking.publishEvent({ id: randomUUID(), pattern, body: '{"value":"x"}' });

  beforeEach(async () => {
    const namespace = newNamespace();
    topology = new Topology(namespace, RETRY_DELAYS_MS);
    asking = openRabbit(namespace);
    serving = openRabbit(namespace);
    client = new RpcClient(asking);
    connection = await amqplib.connect(testRun().amqpUrl);
    channel = await connection.createChannel();
    behaviour = new SampleBehaviour();
    sample = undefined;
    await eventually(() => {
      expect([asking.isConnected(), serving.isConnected()]).toEqual([true, true]);
    });
  });
  afterEach(async () => {
    await sample?.close();
    await serving.close();
    await asking.close();
    await connection.close();
  });

  it('serves RPCs again after its queue was deleted', async () => {
    await start();
    await served();
    await channel.deleteQueue(topology.rpcQueue('sample'));
    await lost(serving);
    await served();
  });

  it('receives events again after their queue was deleted', async () => {
    await start();
    await served();
    await channel.deleteQueue(topology.eventQueue('sample'));
    await lost(serving);
    await served();
    await publish();
    await eventually(() => {
      expect(behaviour.events).toHaveLength(1);
    });
  });

  it('is not ready while its queue cannot be declared, and serves as soon as it can', async () => {
    await channel.assertQueue(topology.rpcQueue('sample'), { durable: true });
    await start();
    await sleep(300);
    expect(serving.isConnected()).toBe(false);
    await channel.deleteQueue(topology.rpcQueue('sample'));
    await served();
  });

  it('sends requests again after the broker closed it because of a request', async () => {
    await start();
    await served();
    await expect(asking.request('sample.echo', '{}', -1)).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await lost(asking);
    await served();
  });

  it('publishes again after the exchange was deleted', async () => {
    await start();
    await served();
    await channel.deleteExchange(topology.eventExchange);
    await expect(publish()).rejects.toThrow();
    await eventually(publish);
  });
});

describe('a host that accepts connections and is silent', () => {
  const { hostname, port } = new URL(testRun().amqpUrl);
  let listener: Server;
  let url: string;
  let accepted: number;
  let isSilent: boolean;

  beforeEach(async () => {
    accepted = 0;
    isSilent = true;
    listener = createServer((socket) => {
      accepted += 1;
      // Without a reader, the listener would not see the end of the connection.
      if (isSilent) socket.on('error', () => undefined).resume();
      else pipeline(socket, createConnection(Number(port === '' ? 5_672 : port), hostname), socket, () => undefined);
    });
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    const proxied = new URL(testRun().amqpUrl);
    proxied.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
    url = proxied.href;
  });
  afterEach(async () => {
    await new Promise((resolve) => listener.close(resolve));
  });

  it('is tried again, and used as soon as it leads to RabbitMQ', async () => {
    const transport = openRabbit(newNamespace(), url);
    await eventually(() => {
      expect(accepted).toBeGreaterThan(0);
    });
    expect(transport.isConnected()).toBe(false);
    isSilent = false;
    await eventually(() => {
      expect(transport.isConnected()).toBe(true);
    }, 15_000);
    await transport.close();
  });
});

describe('a RabbitMQ that cannot be used', () => {
  const changed = (change: (url: URL) => void) => {
    const url = new URL(testRun().amqpUrl);
    change(url);
    return url.href;
  };

  it.each([
    ['the login', (url: URL) => (url.password = 'wrong'), /^RabbitMQ refused the login$/],
    [
      'the virtual host',
      (url: URL) => (url.pathname = '/none'),
      /^RabbitMQ refused the virtual host: it does not exist/,
    ],
    ['the port', (url: URL) => (url.port = '1'), /^RabbitMQ does not answer \(ECONNREFUSED\)$/],
  ])('names what is wrong: %s', async (_, change, reason) => {
    const url = changed(change);
    const transport = openRabbit(newNamespace(), url);
    try {
      await eventually(() => {
        expect(transport.problem()).toMatch(reason);
      });
    } finally {
      await transport.close();
    }
    await expect(DeadLetters.open(url, newNamespace())).rejects.toThrow(reason);
  });
});
