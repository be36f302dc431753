import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import amqplib, { type ChannelModel, type GetMessage } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newNamespace, testRun } from '#testing';
import { type DeadLetter, DeadLetters } from '../src/rabbit/operator-queues.js';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { Topology } from '../src/rabbit/topology.js';
import { openPublisher, openRabbit } from './open-rabbit.js';
import { SampleBehaviour, sampleEvents, startSample } from './sample-service.js';

describe('dead letters', () => {
  const { pattern } = sampleEvents.happened;
  let publisher: RabbitTransport;
  let letters: DeadLetters;
  let behaviour: SampleBehaviour;
  let service: INestMicroservice;
  let namespace: string;
  let connection: ChannelModel;

  beforeEach(async () => {
    namespace = newNamespace();
    connection = await amqplib.connect(testRun().amqpUrl);
    publisher = openPublisher(namespace, [sampleEvents.happened]);
    behaviour = new SampleBehaviour();
    service = await startSample(openRabbit(namespace), behaviour);
    letters = await DeadLetters.open(testRun().amqpUrl, namespace);
    await eventually(() => {
      expect(publisher.isConnected()).toBe(true);
    });
  });
  afterEach(async () => {
    await service.close();
    await publisher.close();
    await letters.close();
    await connection.close();
  });

  /** Publishes events that every attempt fails to handle. */
  async function kill(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => randomUUID());
    for (const id of ids) await publisher.publishEvent({ id, pattern, body: '{"value":7}' });
    await eventually(async () => {
      expect(await letters.count('sample')).toBe(count);
    });
    return ids;
  }

  it('are empty for a service that never had any', async () => {
    expect(await letters.count('absent')).toBe(0);
    expect(await letters.peek('absent', 5)).toEqual([]);
    await letters.replay('absent', () => {
      throw new Error('there is none');
    });
  });

  it('return to their service with their ids, and are dead-lettered again where the cause persists', async () => {
    const ids = await kill(3);
    const moved: DeadLetter[] = [];
    await letters.replay('sample', (letter) => moved.push(letter));
    expect(moved.map(({ id }) => id)).toEqual(ids);
    expect(new Set(moved.map((letter) => letter.pattern))).toEqual(new Set([pattern]));
    expect(moved.every(({ reason }) => reason.length > 0)).toBe(true);
    await eventually(async () => {
      expect(await letters.count('sample')).toBe(3);
    });
    expect(behaviour.events).toEqual([]);
  });

  it('can be read, and stay where they are', async () => {
    const ids = await kill(3);
    const startedAt = Date.now();
    for (let time = 0; time < 5; time += 1) {
      const read = await letters.peek('sample', 2);
      expect(read.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      expect(read[0]).toMatchObject({ pattern, body: '{"value":7}' });
      expect(read[0]!.reason.length).toBeGreaterThan(0);
      expect(Math.abs(read[0]!.diedAt!.getTime() - startedAt)).toBeLessThan(60_000);
      await eventually(async () => {
        expect(await letters.count('sample')).toBe(3);
      });
    }
    const dropped: DeadLetter[] = [];
    await letters.drop('sample', (letter) => dropped.push(letter));
    expect(dropped.map(({ id }) => id)).toEqual(ids);
  });

  it('survive any number of looks: a broker drops messages that return too often', async () => {
    const ids = await kill(3);
    const [before] = await letters.peek('sample', 1);
    for (let time = 0; time < 40; time += 1) {
      await letters.peek('sample', 2);
      await eventually(async () => {
        expect(await letters.count('sample')).toBe(3);
      });
    }
    const channel = await connection.createChannel();
    const counts: number[] = [];
    for (let letter = 0; letter < 3; letter += 1) {
      const message = await channel.get(new Topology(namespace).deadLetterQueue('sample'));
      counts.push(Number((message as GetMessage).properties.headers?.['x-delivery-count'] ?? 0));
    }
    await channel.close();
    expect(Math.max(...counts)).toBeLessThanOrEqual(11);
    // The broker takes back unacknowledged messages after it has confirmed the end of their channel.
    await eventually(async () => {
      expect(await letters.count('sample')).toBe(3);
    });
    const read = await letters.peek('sample', 3);
    expect(read.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(read.find(({ id }) => id === before?.id)).toEqual(before);
  });

  it('stay where they are while the event queue of their service is missing', async () => {
    const topology = new Topology(namespace);
    const channel = await connection.createConfirmChannel();
    const queue = topology.deadLetterQueue('absent');
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    channel.sendToQueue(queue, Buffer.from('{}'), { messageId: randomUUID(), type: pattern });
    await channel.waitForConfirms();
    const moved: DeadLetter[] = [];
    await expect(letters.replay('absent', (letter) => moved.push(letter))).rejects.toThrow(
      `no queue for ${topology.eventQueue('absent')}`,
    );
    expect(moved).toEqual([]);
    await eventually(async () => {
      expect(await letters.count('absent')).toBe(1);
    });
    await channel.deleteQueue(queue);
    await channel.close();
  });

  it('are deleted by drop', async () => {
    const ids = await kill(2);
    const dropped: DeadLetter[] = [];
    await letters.drop('sample', (letter) => dropped.push(letter));
    expect(dropped.map(({ id }) => id)).toEqual(ids);
    expect(await letters.count('sample')).toBe(0);
  });
});
