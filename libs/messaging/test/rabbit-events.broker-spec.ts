import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type Channel, type ChannelModel, type GetMessage } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newNamespace, TcpProxy, testRun } from '#testing';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { openPublisher, openRabbit, RETRY_DELAYS_MS } from './open-rabbit.js';
import { SampleBehaviour, sampleEvents, startSample } from './sample-service.js';

describe('events over RabbitMQ', () => {
  const { pattern } = sampleEvents.happened;
  let namespace: string;
  let topology: Topology;
  let publisher: RabbitTransport;
  let connection: ChannelModel;
  let channel: Channel;
  let behaviour: SampleBehaviour;
  let running: INestMicroservice[];

  const start = async (url?: string, of: SampleBehaviour = behaviour) => {
    const consumers = await consumerCount();
    running.push(await startSample(openRabbit(namespace, url), of));
    await eventually(async () => {
      expect(await consumerCount()).toBe(consumers + 1);
    });
  };
  /** The check of a missing queue closes its channel, so each check has its own channel. */
  const consumerCount = async () => {
    const own = await connection.createChannel();
    own.on('error', () => undefined);
    const count = await own.checkQueue(topology.eventQueue('sample')).then(
      (queue) => queue.consumerCount,
      () => 0,
    );
    await own.close().catch(() => undefined);
    return count;
  };
  const publish = async (value: string, id: string = randomUUID()) => {
    await publisher.publishEvent({ id, pattern, body: JSON.stringify({ value }) });
    return id;
  };
  const messagesIn = async (queue: string) => (await channel.checkQueue(queue)).messageCount;
  const dead = async (): Promise<GetMessage> =>
    eventually(async () => {
      const message = await channel.get(topology.deadLetterQueue('sample'), { noAck: true });
      if (message === false) throw new Error('no dead letter yet');
      return message;
    });

  beforeEach(async () => {
    namespace = newNamespace();
    topology = new Topology(namespace, RETRY_DELAYS_MS);
    publisher = openRabbit(namespace);
    connection = await amqplib.connect(testRun().amqpUrl);
    channel = await connection.createChannel();
    behaviour = new SampleBehaviour();
    running = [];
    await eventually(() => {
      expect(publisher.isConnected()).toBe(true);
    });
  });
  afterEach(async () => {
    await Promise.all(running.map((app) => app.close()));
    await publisher.close();
    await connection.close();
  });

  it('arrive with id and payload, and are acknowledged when handled', async () => {
    await start();
    const id = await publish('first');
    await eventually(() => {
      expect(behaviour.events).toEqual([{ id, payload: { value: 'first' } }]);
    });
    await Promise.all(running.splice(0).map((app) => app.close()));
    expect(await messagesIn(topology.eventQueue('sample'))).toBe(0);
  });

  it('wait for a service that does not run', async () => {
    await start();
    await Promise.all(running.splice(0).map((app) => app.close()));
    const ids = [await publish('one'), await publish('two')];
    await start();
    await eventually(() => {
      expect(behaviour.events.map(({ id }) => id)).toEqual(ids);
    });
  });

  it('wait for a declared subscriber that has never run, but for no other', async () => {
    const declaring = openPublisher(namespace, Object.values(sampleEvents));
    await eventually(() => {
      expect(declaring.isConnected()).toBe(true);
    });
    await declaring.publishEvent({ id: randomUUID(), pattern: sampleEvents.ignored.pattern, body: '{}' });
    const id = await publish('early');
    await eventually(async () => {
      expect(await messagesIn(topology.eventQueue('sample'))).toBe(1);
    });
    await start();
    await eventually(() => {
      expect(behaviour.events).toEqual([{ id, payload: { value: 'early' } }]);
    });
    await declaring.close();
  });

  it.each<[string, () => Promise<unknown>]>([
    ['queue', () => channel.deleteQueue(topology.eventQueue('sample'))],
    ['binding', () => channel.unbindQueue(topology.eventQueue('sample'), topology.eventExchange, pattern)],
  ])('are not taken as published where the %s of their subscriber is gone, which returns', async (_, remove) => {
    const declaring = openPublisher(namespace, Object.values(sampleEvents));
    await eventually(() => {
      expect(declaring.isConnected()).toBe(true);
    });
    await remove();
    const body = '{"value":"kept"}';
    await expect(declaring.publishEvent({ id: randomUUID(), pattern, body })).rejects.toThrow('no queue for sample');
    expect(declaring.isConnected()).toBe(true);
    const id = randomUUID();
    await eventually(() => declaring.publishEvent({ id, pattern, body }));
    await start();
    await eventually(() => {
      expect(behaviour.events).toEqual([{ id, payload: { value: 'kept' } }]);
    });
    await declaring.close();
  });

  it('are retried where the queue for retries is gone, which returns', async () => {
    let attempts = 0;
    behaviour.onEvent = () => {
      attempts += 1;
      if (attempts === 1) throw new Error('not yet');
    };
    await start();
    await channel.deleteQueue(topology.retryQueue('sample', 1));
    const id = await publish('twice');
    await eventually(() => {
      expect(attempts).toBeGreaterThan(1);
    });
    expect(new Set(behaviour.events.map((event) => event.id))).toEqual(new Set([id]));
    expect(await messagesIn(topology.retryQueue('sample', 1))).toBe(0);
  });

  it('are retried after each delay', async () => {
    const attempts: number[] = [];
    behaviour.onEvent = () => {
      attempts.push(Date.now());
      if (attempts.length < 3) throw new Error('not yet');
    };
    await start();
    await publish('thrice');
    await eventually(() => {
      expect(attempts).toHaveLength(3);
    });
    const [first = 0, second = 0, third = 0] = attempts;
    expect(second - first).toBeGreaterThanOrEqual(RETRY_DELAYS_MS[0]! - 5);
    expect(third - second).toBeGreaterThanOrEqual(RETRY_DELAYS_MS[1]! - 5);
    expect(await messagesIn(topology.deadLetterQueue('sample'))).toBe(0);
  });

  it('are dead-lettered with the reason after the last attempt, and stored', async () => {
    behaviour.onEvent = () => Promise.reject(new Error('the mail server has failed'));
    await start();
    const id = randomUUID();
    await publisher.publishEvent({ id, pattern, body: '{"value":"poison"}', requestId: 'request-1' });
    const { properties, content } = await dead();
    expect(behaviour.events).toHaveLength(1 + RETRY_DELAYS_MS.length);
    expect([properties.messageId, properties.type, JSON.parse(content.toString())]).toEqual([
      id,
      pattern,
      { value: 'poison' },
    ]);
    expect(properties.headers).toMatchObject({ 'x-gatepost-attempt': 1 + RETRY_DELAYS_MS.length });
    expect(properties.headers).toMatchObject({
      'x-gatepost-reason': 'the mail server has failed',
      'x-gatepost-request-id': 'request-1',
    });
  });

  it('do not delay the events behind them while they wait for a retry', async () => {
    behaviour.onEvent = ({ payload }) => {
      if (payload.value === 'bad') throw new Error('bad');
    };
    await start();
    await publish('bad');
    for (let index = 0; index < 30; index += 1) await publish(`good ${index}`);
    await eventually(() => {
      expect(behaviour.events.filter(({ payload }) => payload.value.startsWith('good'))).toHaveLength(30);
    });
  });

  it.each([
    ['text that is not JSON', 'no json'],
    ['a payload of another shape', '{"value": 7}'],
  ])('with %s never reach the handler and are dead-lettered at once', async (_, body) => {
    await start();
    const id = randomUUID();
    await publisher.publishEvent({ id, pattern, body });
    const { properties } = await dead();
    expect([properties.messageId, properties.headers?.['x-gatepost-attempt']]).toEqual([id, 1]);
    expect(behaviour.events).toEqual([]);
    await publish('the next one');
    await eventually(() => {
      expect(behaviour.events).toHaveLength(1);
    });
  });

  it('are redelivered to another consumer when the connection of the first one ends', async () => {
    const proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    const dying = new SampleBehaviour();
    dying.onEvent = () => new Promise<never>(() => undefined);
    const doomed = openRabbit(namespace, proxy.urlFor(testRun().amqpUrl));
    await startSample(doomed, dying);
    await eventually(async () => {
      expect(await consumerCount()).toBe(1);
    });
    const id = await publish('heavy');
    await eventually(() => {
      expect(dying.events).toHaveLength(1);
    });
    await start();
    proxy.takeAway();
    await eventually(() => {
      expect(behaviour.events).toEqual([{ id, payload: { value: 'heavy' } }]);
    });
    // The first consumer never finishes its work: only its connection is closed.
    await doomed.close();
    await proxy.close();
  });

  it('in progress are finished before a closing service disconnects; the others stay in the queue', async () => {
    const gate = new SampleBehaviour();
    let isDone = false;
    behaviour.onEvent = async ({ payload }) => {
      if (payload.value !== 'slow') return;
      await gate.hold();
      isDone = true;
    };
    await start();
    await publish('slow');
    await eventually(() => {
      expect(behaviour.events).toHaveLength(1);
    });
    const closing = running.splice(0)[0]!.close();
    await eventually(async () => {
      await publish('later');
      expect(await messagesIn(topology.eventQueue('sample'))).toBeGreaterThan(0);
    });
    const handled = behaviour.events.length;
    gate.release();
    await closing;
    expect([isDone, behaviour.events.length]).toEqual([true, handled]);
  });

  it('cannot be published while the broker is unavailable', async () => {
    const proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    const cut = openRabbit(namespace, proxy.urlFor(testRun().amqpUrl));
    await eventually(() => {
      expect(cut.isConnected()).toBe(true);
    });
    proxy.takeAway();
    await eventually(() => {
      expect(cut.isConnected()).toBe(false);
    });
    await expect(cut.publishEvent({ id: randomUUID(), pattern, body: '{}' })).rejects.toMatchObject({
      errorName: 'SERVICE_UNAVAILABLE',
    });
    await cut.close();
    await proxy.close();
  });
});
