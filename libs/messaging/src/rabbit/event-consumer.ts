import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { MessageHandler } from '@nestjs/microservices';
import type { Channel, ConsumeMessage, Options } from 'amqplib';
import { reasonOf } from '#errors';
import type { Metrics } from '#observability';
import { deliverEvent } from '../handlers.js';
import { originFrom, originHeaders, REASON_HEADER, UnparseableEvent } from '../transport.js';
import { whereOpen } from './broker-connection.js';
import { type InFlight, type Publisher, UnroutableError } from './publisher.js';
import type { Topology } from './topology.js';

const PREFETCH = 20;
const ATTEMPT_HEADER = 'x-gatepost-attempt';
const COPY_RETRY_MS = 1_000;

interface ConsumerHooks {
  readonly inFlight: InFlight;
  /** Called when the broker has cancelled the consumer, or has no queue for a copy: a new start declares the queues. */
  readonly lose: () => void;
  readonly closing: AbortSignal;
}

/** The channel of a delivered message, as its copies use it. */
interface Life {
  readonly lose: () => void;
  readonly ended: AbortSignal;
}

/** Retries a failed event after each delay, then dead-letters it: as copies, because the broker drops an event that returns too often. */
export class EventConsumer {
  readonly #logger = new Logger('Events');

  constructor(
    private readonly publisher: Publisher,
    private readonly topology: Topology,
    private readonly service: string,
    private readonly find: (pattern: string) => MessageHandler | null,
    private readonly outcomes?: Metrics['eventsHandled'],
  ) {}

  async start(channel: Channel, patterns: readonly string[], hooks: ConsumerHooks): Promise<string> {
    await this.topology.declareEventQueues(channel, this.service, patterns);
    await channel.prefetch(PREFETCH);
    const lost = new AbortController();
    channel.once('close', () => {
      lost.abort();
    });
    const life = { lose: hooks.lose, ended: AbortSignal.any([lost.signal, hooks.closing]) };
    const consumer = await channel.consume(this.topology.eventQueue(this.service), (message) => {
      if (message === null) hooks.lose();
      else hooks.inFlight.add(this.#handle(channel, message, life));
    });
    return consumer.consumerTag;
  }

  async #handle(channel: Channel, message: ConsumeMessage, life: Life): Promise<void> {
    try {
      const outcome = await this.#deliver(message).catch((error: unknown) => this.#putAside(message, error, life));
      channel.ack(message);
      this.outcomes?.inc({ outcome });
    } catch (error) {
      this.#logger.warn(`event ${String(message.properties.messageId)} goes back to the queue: ${String(error)}`);
      // Where the channel has closed, the broker requeues the message by itself.
      whereOpen(() => {
        channel.nack(message);
      });
    }
  }

  async #deliver(message: ConsumeMessage): Promise<'ok'> {
    const pattern = String(message.properties.type);
    const handler = this.find(pattern);
    if (handler === null) throw new Error(`no handler for ${pattern}`);
    const id = String(message.properties.messageId);
    const origin = originFrom(message.properties.headers);
    await deliverEvent({ id, pattern, body: message.content.toString(), ...origin }, handler);
    return 'ok';
  }

  async #putAside(message: ConsumeMessage, error: unknown, life: Life): Promise<'retry' | 'dead'> {
    const failures = Number(message.properties.headers?.[ATTEMPT_HEADER] ?? 0) + 1;
    const isDead = failures > this.topology.retryDelaysMs.length || UnparseableEvent.isBehind(error);
    const queue = isDead
      ? this.topology.deadLetterQueue(this.service)
      : this.topology.retryQueue(this.service, failures);
    const reason = reasonOf(error);
    const messageId = String(message.properties.messageId);
    const type = String(message.properties.type);
    const origin = originFrom(message.properties.headers);
    const attempt = `attempt ${failures}${isDead ? ', dead' : ''}`;
    this.#logger.warn(`event ${messageId} (${type}) failed, ${attempt}: ${reason}`, {
      messageId,
      requestId: origin.requestId,
    });
    const headers = { ...originHeaders(origin), [ATTEMPT_HEADER]: failures, [REASON_HEADER]: reason.slice(0, 500) };
    const timestamp = Math.floor(Date.now() / 1_000);
    const properties = { persistent: true, mandatory: true, messageId, type, timestamp, headers };
    await this.#copyTo(queue, message.content, properties, life);
    return isDead ? 'dead' : 'retry';
  }

  /** Publishes until the broker has stored the copy. @throws where the channel of the original or the service closes first */
  async #copyTo(queue: string, content: Buffer, options: Options.Publish, life: Life): Promise<void> {
    const attempt = () => this.#attempt([{ exchange: '', routingKey: queue }, content, options], life);
    let failure = await attempt();
    if (failure !== undefined) this.#logger.warn(`event ${options.messageId ?? ''} waits: ${failure}`);
    while (failure !== undefined) {
      await sleep(COPY_RETRY_MS, undefined, { signal: life.ended });
      failure = await attempt();
    }
  }

  async #attempt(message: Parameters<Publisher['publish']>, { lose }: Life): Promise<string | undefined> {
    try {
      await this.publisher.publish(...message);
      return undefined;
    } catch (error) {
      if (error instanceof UnroutableError) lose();
      return reasonOf(error);
    }
  }
}
