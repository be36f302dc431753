import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newNamespace, testRun } from '#testing';
import { type DeadLetter, DeadLetters } from '../src/rabbit/operator-queues.js';
import type { RabbitTransport } from '../src/rabbit/rabbit.transport.js';
import { openPublisher, openRabbit } from './open-rabbit.js';
import { SampleBehaviour, sampleEvents, startSample } from './sample-service.js';

describe('dead letters', () => {
  const { pattern } = sampleEvents.happened;
  let publisher: RabbitTransport;
  let letters: DeadLetters;
  let behaviour: SampleBehaviour;
  let service: INestMicroservice;

  beforeEach(async () => {
    const namespace = newNamespace();
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

  it('are deleted by drop', async () => {
    const ids = await kill(2);
    const dropped: DeadLetter[] = [];
    await letters.drop('sample', (letter) => dropped.push(letter));
    expect(dropped.map(({ id }) => id)).toEqual(ids);
    expect(await letters.count('sample')).toBe(0);
  });
});
