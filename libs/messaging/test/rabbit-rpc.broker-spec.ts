import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type Channel, type ChannelModel } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AppError } from '#errors';
import { eventually, newNamespace, TcpProxy, testRun } from '#testing';
import { RpcClient } from '../src/messaging.module.js';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { openRabbit } from './open-rabbit.js';
import { holdWithShortTimeout, SampleBehaviour, sampleRpc, startSample } from './sample-service.js';

const MAX_RPC_IN_FLIGHT = 2_000;

describe('RPC over RabbitMQ', () => {
  let namespace: string;
  let proxy: TcpProxy;
  let asking: RabbitTransport;
  let client: RpcClient;
  let connection: ChannelModel;
  let channel: Channel;
  let behaviour: SampleBehaviour;
  let sample: INestMicroservice | undefined;

  const start = async () => {
    sample = await startSample(openRabbit(namespace), behaviour);
    await eventually(() => client.call(sampleRpc.echo, { text: '' }));
  };
  const rpcQueue = () => new Topology(namespace).rpcQueue('sample');

  beforeEach(async () => {
    namespace = newNamespace();
    proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    asking = openRabbit(namespace, proxy.urlFor(testRun().amqpUrl));
    client = new RpcClient(asking);
    connection = await amqplib.connect(testRun().amqpUrl);
    channel = await connection.createChannel();
    behaviour = new SampleBehaviour();
    sample = undefined;
    await eventually(() => {
      expect(asking.isConnected()).toBe(true);
    });
  });
  afterEach(async () => {
    behaviour.release();
    proxy.bringBack();
    await sample?.close();
    await asking.close();
    await connection.close();
    await proxy.close();
  });

  it("drops a request from the queue after the caller's deadline", async () => {
    await new Topology(namespace).declareRpcQueue(channel, 'sample');
    await expect(client.call(holdWithShortTimeout, {})).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await eventually(async () => {
      expect((await channel.checkQueue(rpcQueue())).messageCount).toBe(0);
    });
    await start();
    expect(behaviour.heldCalls).toBe(0);
  });

  it('limits the requests in progress, and refuses the others at once', async () => {
    await start();
    const held = Array.from({ length: MAX_RPC_IN_FLIGHT + 50 }, () =>
      client.call(sampleRpc.hold, {}).then(
        () => 'ok',
        (error: unknown) => (error as AppError).errorName,
      ),
    );
    const firstAnswer = await Promise.race(held);
    expect(firstAnswer).toBe('SERVICE_UNAVAILABLE');
    behaviour.release();
    const outcomes = await Promise.all(held);
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(MAX_RPC_IN_FLIGHT);
  });

  it('finishes requests in progress when it closes, and accepts no others', async () => {
    await start();
    const inHand = Promise.all(Array.from({ length: 20 }, () => client.call(sampleRpc.hold, {})));
    inHand.catch(() => undefined);
    await eventually(() => {
      expect(behaviour.heldCalls).toBe(20);
    });
    const closing = sample!.close();
    await eventually(async () => {
      expect((await channel.checkQueue(rpcQueue())).consumerCount).toBe(0);
    });
    behaviour.release();
    await expect(inHand).resolves.toHaveLength(20);
    await closing;
    sample = undefined;
  });

  it('sends no request to a closing replica while another one serves', async () => {
    await start();
    const leaving = await startSample(openRabbit(namespace), behaviour);
    await eventually(async () => {
      expect((await channel.checkQueue(rpcQueue())).consumerCount).toBe(2);
    });
    const calls = Array.from({ length: 300 }, async (_, index) => {
      if (index === 100) void leaving.close();
      return client.call(sampleRpc.echo, { text: String(index) });
    });
    await expect(Promise.all(calls)).resolves.toHaveLength(300);
    await eventually(async () => {
      expect((await channel.checkQueue(rpcQueue())).consumerCount).toBe(1);
    });
  });

  it('fails pending requests at once when the connection is lost, refuses new ones, and recovers by itself', async () => {
    await start();
    const pending = Promise.allSettled(Array.from({ length: 10 }, () => client.call(sampleRpc.hold, {})));
    await eventually(() => {
      expect(behaviour.heldCalls).toBe(10);
    });
    const lostAt = Date.now();
    proxy.takeAway();
    for (const outcome of await pending)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { errorName: 'SERVICE_UNAVAILABLE' } });
    await expect(client.call(sampleRpc.echo, { text: '' })).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(Date.now() - lostAt).toBeLessThan(1_500);
    expect(asking.isConnected()).toBe(false);
    proxy.bringBack();
    await eventually(async () => {
      expect(await client.call(sampleRpc.echo, { text: 'back' })).toMatchObject({ text: 'back' });
    }, 15_000);
  });

  it('fails at its deadline where the network drops all packets', async () => {
    await start();
    proxy.silence();
    const startedAt = Date.now();
    await expect(client.call(holdWithShortTimeout, {})).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(Date.now() - startedAt).toBeLessThan(2_000);
    proxy.bringBack();
    await eventually(async () => {
      expect(await client.call(sampleRpc.echo, { text: 'back' })).toMatchObject({ text: 'back' });
    }, 15_000);
  });

  it('refuses requests above 64 MiB of pending ones, and counts them only while they wait', async () => {
    await start();
    proxy.silence();
    const text = 'x'.repeat(1_024 * 1_024);
    const refusals: unknown[] = [];
    const calls = Array.from({ length: 80 }, () =>
      client.call(sampleRpc.echo, { text }).catch((error: unknown) => refusals.push((error as AppError).cause)),
    );
    await eventually(() => {
      expect(refusals.map(String)).toContain('Error: too many bytes wait for the message broker');
    });
    // Pending messages and unsent bytes: a message counts in both until the socket has sent it.
    expect(refusals.length).toBeGreaterThanOrEqual(80 - 64);
    expect(refusals.length).toBeLessThan(60);
    await Promise.all(calls);
    proxy.bringBack();
    await eventually(async () => {
      expect(await client.call(sampleRpc.echo, { text })).toEqual({ text });
    }, 15_000);
  });

  it('times out a missing confirm, and publishes again', async () => {
    const publish = () => asking.publishEvent({ id: randomUUID(), pattern: 'sample.ignored.v1', body: '{}' });
    await publish();
    proxy.silence();
    const startedAt = performance.now();
    await expect(publish()).rejects.toThrow('did not confirm in time');
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    proxy.bringBack();
    await eventually(publish, 15_000);
  });
});
