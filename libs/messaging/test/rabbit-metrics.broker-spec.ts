import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type ChannelModel } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { eventually, newNamespace, TcpProxy, testRun } from '#testing';
import { RpcClient } from '../src/messaging.module.js';
import { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { RETRY_DELAYS_MS } from './open-rabbit.js';
import {
  holdWithShortTimeout,
  absentServiceRpc,
  SampleBehaviour,
  sampleEvents,
  sampleRpc,
  startSample,
} from './sample-service.js';

describe('metrics of RabbitMQ', () => {
  let namespace: string;
  let topology: Topology;
  let proxy: TcpProxy;
  let metrics: Metrics;
  let transport: RabbitTransport;
  let client: RpcClient;
  let own: ChannelModel;
  let behaviour: SampleBehaviour;
  let sample: INestMicroservice | undefined;

  const open = (url: string, registry: Metrics) =>
    new RabbitTransport({
      url,
      namespace,
      connectionName: 'gatepost-test',
      retryDelaysMs: RETRY_DELAYS_MS,
      publishes: Object.values(sampleEvents),
      metrics: registry,
    });
  const publish = () =>
    transport.publishEvent({ id: randomUUID(), pattern: sampleEvents.happened.pattern, body: '{"value":"x"}' });
  const readSeries = async (name: string, of = metrics) =>
    (await of.expose()).split('\n').filter((line) => line.startsWith(`gatepost_${name}`));

  beforeEach(async () => {
    namespace = newNamespace();
    topology = new Topology(namespace, RETRY_DELAYS_MS);
    proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    metrics = new Metrics();
    transport = open(proxy.urlFor(testRun().amqpUrl), metrics);
    client = new RpcClient(transport);
    own = await amqplib.connect(testRun().amqpUrl);
    behaviour = new SampleBehaviour();
    sample = undefined;
    await eventually(() => {
      expect(transport.isConnected()).toBe(true);
    });
  });
  afterEach(async () => {
    behaviour.release();
    proxy.bringBack();
    await sample?.close();
    await transport.close();
    const channel = await own.createChannel();
    for (const queue of topology.queuesOfEvents('sample')) await channel.deleteQueue(queue);
    await own.close();
    await proxy.close();
  });

  it('report the length of each event queue, and nothing while the broker is unavailable', async () => {
    await publish();
    await publish();
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages')).toEqual([
        'gatepost_broker_queue_messages{queue="events.sample"} 2',
        'gatepost_broker_queue_messages{queue="events.sample.retry-1"} 0',
        'gatepost_broker_queue_messages{queue="events.sample.retry-2"} 0',
        'gatepost_broker_queue_messages{queue="events.sample.dead"} 0',
      ]);
      expect(await readSeries('broker_connected')).toEqual(['gatepost_broker_connected 1']);
    });
    proxy.takeAway();
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages')).toEqual([]);
      expect(await readSeries('broker_connected')).toEqual(['gatepost_broker_connected 0']);
    });
    proxy.bringBack();
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages')).toHaveLength(4);
    });
  });

  it('are read within three seconds from a silent broker, and then left out', async () => {
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages')).toHaveLength(4);
    });
    proxy.silence();
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages')).toEqual([]);
    });
  });

  it('leave out a deleted queue without further effect', async () => {
    const receiving = new Metrics();
    sample = await startSample(open(testRun().amqpUrl, receiving), behaviour);
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages', receiving)).toHaveLength(5);
    });
    const channel = await own.createChannel();
    await channel.deleteQueue(topology.deadLetterQueue('sample'));
    await eventually(async () => {
      expect(await readSeries('broker_queue_messages', receiving)).toHaveLength(3);
    });
    expect(await client.call(sampleRpc.echo, { text: 'still there' })).toEqual({ text: 'still there' });
  });

  it('count the outcomes of events', async () => {
    const receiving = new Metrics();
    let failures = 1 + RETRY_DELAYS_MS.length;
    behaviour.onEvent = () => {
      if (failures-- > 0) throw new Error('not now');
    };
    sample = await startSample(open(testRun().amqpUrl, receiving), behaviour);
    await publish();
    await eventually(async () => {
      expect(await readSeries('events_handled_total', receiving)).toEqual([
        'gatepost_events_handled_total{outcome="ok"} 0',
        'gatepost_events_handled_total{outcome="retry"} 2',
        'gatepost_events_handled_total{outcome="dead"} 1',
      ]);
      expect(await readSeries('broker_queue_messages', receiving)).toContain(
        'gatepost_broker_queue_messages{queue="events.sample.dead"} 1',
      );
    });
    await publish();
    await eventually(async () => {
      expect(await readSeries('events_handled_total{outcome="ok"}', receiving)).toEqual([
        'gatepost_events_handled_total{outcome="ok"} 1',
      ]);
    });
  });

  it('count the outcomes of requests, for the caller and the service', async () => {
    const receiving = new Metrics();
    sample = await startSample(open(testRun().amqpUrl, receiving), behaviour);
    await eventually(() => client.call(sampleRpc.echo, { text: '' }));
    await expect(client.call(sampleRpc.fail, { how: 'known' })).rejects.toMatchObject({ errorName: 'USERNAME_TAKEN' });
    await expect(client.call(holdWithShortTimeout, {})).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await expect(client.call(absentServiceRpc, {})).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(await readSeries('rpc_call_duration_seconds_count')).toEqual(
      expect.arrayContaining([
        'gatepost_rpc_call_duration_seconds_count{callee="sample",outcome="answered"} 2',
        'gatepost_rpc_call_duration_seconds_count{callee="sample",outcome="timed_out"} 1',
        'gatepost_rpc_call_duration_seconds_count{callee="absent",outcome="unavailable"} 1',
      ]),
    );
    expect(await readSeries('rpc_duration_seconds_count', receiving)).toEqual([
      'gatepost_rpc_duration_seconds_count{pattern="sample.echo",outcome="ok"} 1',
      'gatepost_rpc_duration_seconds_count{pattern="sample.fail",outcome="USERNAME_TAKEN"} 1',
    ]);
  });
});
