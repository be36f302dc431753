import type { EventContract } from '#contracts';
import { testRun } from '#testing';
import { RabbitTransport } from '../src/rabbit/rabbit.transport.js';

/** Short, so that a test sees all attempts. */
export const RETRY_DELAYS_MS = [50, 100];

/** A RabbitMQ transport to the test run's broker, or to the given URL. */
export function openRabbit(namespace: string, url: string = testRun().amqpUrl): RabbitTransport {
  return new RabbitTransport({ url, namespace, connectionName: 'gatepost-test', retryDelaysMs: RETRY_DELAYS_MS });
}

/** A transport that declares the events that it publishes. */
export function openPublisher(namespace: string, publishes: readonly EventContract[]): RabbitTransport {
  const { amqpUrl: url } = testRun();
  return new RabbitTransport({
    url,
    namespace,
    connectionName: 'gatepost-test',
    retryDelaysMs: RETRY_DELAYS_MS,
    publishes,
  });
}
