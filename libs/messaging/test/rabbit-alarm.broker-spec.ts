import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type ChannelModel, type ConsumeMessage } from 'amqplib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { eventually, newNamespace, PrivateRabbit } from '#testing';
import { RpcClient } from '../src/messaging.module.js';
import { DeadLetters } from '../src/rabbit/operator-queues.js';
import { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { RETRY_DELAYS_MS } from './open-rabbit.js';
import { SampleBehaviour, sampleEvents, sampleRpc, startSample } from './sample-service.js';

const START_MS = 120_000;
/** Each call of rabbitmqctl starts a virtual machine. */
const TEST_MS = 120_000;
/** An idle process probes every second; the machine may be busy. */
const NOTICED_MS = 15_000;
const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 };

describe('a RabbitMQ that is short of memory', { timeout: TEST_MS }, () => {
  const { pattern } = sampleEvents.happened;
  let rabbit: PrivateRabbit;
  let namespace: string;
  let topology: Topology;
  let metrics: Metrics;
  let asking: RabbitTransport;
  let serving: RabbitTransport;
  let client: RpcClient;
  let behaviour: SampleBehaviour;
  let sample: INestMicroservice | undefined;
  let own: ChannelModel;
  let isShort = false;

  const open = (registry?: Metrics) =>
    new RabbitTransport({
      url: rabbit.url,
      namespace,
      connectionName: 'gatepost-test',
      retryDelaysMs: RETRY_DELAYS_MS,
      publishes: [sampleEvents.happened],
      ...(registry !== undefined && { metrics: registry }),
    });
  const start = async () => {
    sample = await startSample(serving, behaviour);
    await eventually(() => client.call(sampleRpc.echo, { text: '' }));
  };
  const publish = () => asking.publishEvent({ id: randomUUID(), pattern, body: '{"value":"x"}' });
  const runShort = async () => {
    isShort = true;
    await rabbit.runShort('memory');
    await eventually(() => {
      expect([asking.problem(), serving.problem()]).toEqual(
        Array.from({ length: 2 }, () => 'RabbitMQ accepts no messages: low on memory'),
      );
    }, NOTICED_MS);
  };
  const recover = async () => {
    await rabbit.recover('memory');
    isShort = false;
    await eventually(() => {
      expect([asking.problem(), serving.problem()]).toEqual([undefined, undefined]);
    }, NOTICED_MS);
  };
  const gaugeValue = async (name: string) =>
    Number(
      (await metrics.expose())
        .split('\n')
        .find((line) => line.startsWith(`gatepost_${name} `))
        ?.split(' ')[1],
    );

  beforeAll(async () => {
    rabbit = await PrivateRabbit.start();
  }, START_MS);
  beforeEach(async () => {
    namespace = newNamespace();
    topology = new Topology(namespace, RETRY_DELAYS_MS);
    metrics = new Metrics();
    asking = open(metrics);
    serving = open();
    client = new RpcClient(asking);
    behaviour = new SampleBehaviour();
    sample = undefined;
    own = await amqplib.connect(rabbit.url);
    await eventually(() => {
      expect([asking.problem(), serving.problem()]).toEqual([undefined, undefined]);
    });
  });
  afterEach(async () => {
    behaviour.release();
    if (isShort) await recover();
    await sample?.close();
    await serving.close();
    await asking.close();
    await own.close();
  }, START_MS);
  afterAll(async () => {
    await rabbit.stop();
  }, START_MS);

  it('is detected by processes that publish nothing, which refuse at once and recover by themselves', async () => {
    await start();
    await runShort();
    await eventually(async () => {
      expect(await gaugeValue('broker_blocked')).toBe(1);
    });
    const startedAt = performance.now();
    const calls = await Promise.allSettled(
      Array.from({ length: 500 }, () => client.call(sampleRpc.echo, { text: 'x'.repeat(1_000) })),
    );
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    for (const call of calls) expect(call).toMatchObject({ status: 'rejected', reason: UNAVAILABLE });
    await expect(publish()).rejects.toMatchObject(UNAVAILABLE);
    await expect(asking.sendToNode('any', { pattern: 'note', body: '{}' })).rejects.toMatchObject(UNAVAILABLE);
    await eventually(async () => {
      expect(await gaugeValue('broker_pending_bytes')).toBe(0);
    });
    expect([asking.isConnected(), serving.isConnected()]).toEqual([true, true]);
    await recover();
    // The metric is read at most once a second.
    await eventually(async () => {
      expect(await gaugeValue('broker_blocked')).toBe(0);
    });
    expect(await client.call(sampleRpc.echo, { text: 'again' })).toEqual({ text: 'again' });
  });

  it('fails pending requests long before their deadline', async () => {
    await start();
    const held = client.call(sampleRpc.hold, {}).then(
      () => undefined,
      (error: unknown) => ({ error, at: performance.now() }),
    );
    await eventually(() => {
      expect(behaviour.heldCalls).toBe(1);
    });
    await runShort();
    const noticedAt = performance.now();
    const failed = await held;
    expect(failed?.error).toMatchObject(UNAVAILABLE);
    expect((failed?.at ?? Infinity) - noticedAt).toBeLessThan(1_000);
  });

  it('lets events be handled and acknowledged; a failed event waits, and is retried afterwards', async () => {
    let failures = 1;
    behaviour.onEvent = () => {
      if (failures-- > 0) throw new Error('not now');
    };
    for (let count = 0; count < 5; count += 1) await publish();
    await runShort();
    sample = await startSample(serving, behaviour);
    await eventually(() => {
      expect(behaviour.events).toHaveLength(5);
    });
    const channel = await own.createChannel();
    const left = async () => (await channel.checkQueue(topology.eventQueue('sample'))).messageCount;
    // Longer than the delay between two copy attempts: a requeued event would have returned by now.
    await sleep(2_500);
    expect([behaviour.events.length, await left()]).toEqual([5, 0]);
    await recover();
    await eventually(() => {
      expect(behaviour.events).toHaveLength(6);
    });
    expect(new Set(behaviour.events.map(({ id }) => id)).size).toBe(5);
  });

  it('ends a replay of dead letters with the reason, and the letters stay', async () => {
    const queue = topology.deadLetterQueue('absent');
    const channel = await own.createConfirmChannel();
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await channel.assertQueue(topology.eventQueue('absent'));
    channel.sendToQueue(queue, Buffer.from('{}'), { messageId: randomUUID(), type: pattern });
    await channel.waitForConfirms();
    await runShort();
    const letters = await DeadLetters.open(rabbit.url, namespace);
    const startedAt = performance.now();
    const replayed = letters.replay('absent', () => undefined);
    await expect(replayed).rejects.toMatchObject({
      errorName: 'SERVICE_UNAVAILABLE',
      message: 'The message broker: it accepts no messages: low on memory.',
    });
    await letters.close();
    expect(performance.now() - startedAt).toBeLessThan(NOTICED_MS);
    await recover();
    await eventually(async () => {
      expect((await channel.checkQueue(queue)).messageCount).toBe(1);
    });
  });

  it("refuses a request that it reads after the caller's deadline", async () => {
    await start();
    await runShort();
    const channel = await own.createChannel();
    const answered: string[] = [];
    const hear = (message: ConsumeMessage | null) => {
      const { error } = JSON.parse(message?.content.toString() ?? '') as { error?: unknown };
      answered.push(`${String(message?.properties.correlationId)}: ${error === undefined ? 'done' : 'refused'}`);
    };
    await channel.consume('amq.rabbitmq.reply-to', hear, { noAck: true });
    const ask = (correlationId: string) =>
      channel.sendToQueue(
        topology.rpcQueue('sample'),
        Buffer.from(JSON.stringify({ pattern: sampleRpc.echo.pattern, data: { text: '' } })),
        { expiration: 100, timestamp: Math.floor(Date.now() / 1_000), replyTo: 'amq.rabbitmq.reply-to', correlationId },
      );
    ask('first');
    await sleep(5_000);
    const before = behaviour.calls;
    await recover();
    ask('second');
    await eventually(() => {
      expect(answered).toEqual(['first: refused', 'second: done']);
    });
    expect(behaviour.calls).toBe(before + 1);
  });
});
