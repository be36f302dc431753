import type { ChannelModel, ConfirmChannel, GetMessage } from 'amqplib';
import { connectOnce, queueState } from './operator-queues.js';
import { originFrom, originHeaders } from './origin-headers.js';
import { confirmedPublish } from './publisher.js';
import { REASON_HEADER, Topology } from './topology.js';

/** An event that its service could not handle. */
export interface DeadLetter {
  readonly id: string;
  readonly pattern: string;
  /** What its last attempt failed with. */
  readonly reason: string;
}

/**
 * The events that services gave up. They are counted, and moved, but not looked at where they lie: a quorum queue counts each look as a
 * delivery, and gives up what was delivered too often.
 */
export class DeadLetters {
  readonly #topology: Topology;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
  }

  /** @throws Error where no broker answers */
  static async open(url: string, namespace: string): Promise<DeadLetters> {
    return new DeadLetters(await connectOnce(url), namespace);
  }

  /** How many events of a service are dead; none where it never had a queue. */
  async count(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.deadLetterQueue(service))).messageCount;
  }

  /**
   * Gives the events that are dead now back to their service, which handles them as new ones. Each leaves its place once the
   * broker has confirmed the other one.
   */
  async replay(service: string, onMoved: (letter: DeadLetter) => void): Promise<void> {
    await this.#take(service, async (channel, message) => {
      const { messageId, type } = message.properties as { messageId: string; type: string };
      const headers = originHeaders(originFrom(message.properties.headers));
      const route = { exchange: '', routingKey: this.#topology.eventQueue(service) };
      await confirmedPublish(channel, route, message.content, {
        persistent: true,
        mandatory: true,
        messageId,
        type,
        headers,
      });
      onMoved(letterOf(message));
    });
  }

  /** Forgets the events that are dead now. */
  async drop(service: string, onDropped: (letter: DeadLetter) => void): Promise<void> {
    await this.#take(service, (_, message) => {
      onDropped(letterOf(message));
      return Promise.resolve();
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** As many as there are at the beginning: what dies again meanwhile is not taken again. */
  async #take(service: string, work: (channel: ConfirmChannel, message: GetMessage) => Promise<void>): Promise<void> {
    const count = await this.count(service);
    await this.#withChannel(async (channel) => {
      for (let index = 0; index < count; index += 1) {
        const message = await channel.get(this.#topology.deadLetterQueue(service));
        if (message === false) return;
        await work(channel, message);
        channel.ack(message);
      }
    });
  }

  async #withChannel<T>(work: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
    const channel = await this.connection.createConfirmChannel();
    channel.on('error', () => undefined);
    try {
      return await work(channel);
    } finally {
      await channel.close().catch(() => undefined);
    }
  }
}

function letterOf({ properties }: GetMessage): DeadLetter {
  const reason: unknown = properties.headers?.[REASON_HEADER];
  return {
    id: String(properties.messageId),
    pattern: String(properties.type),
    reason: typeof reason === 'string' ? reason : 'it was delivered too often',
  };
}
