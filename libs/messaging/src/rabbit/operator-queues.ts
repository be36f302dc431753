import { type ChannelModel, type ConfirmChannel, connect, type GetMessage } from 'amqplib';
import { confirmedPublish } from './publisher.js';
import { originFrom, originHeaders, REASON_HEADER, Topology } from './topology.js';

const CONNECT_TIMEOUT_MS = 3_000;
const QUEUE_NOT_FOUND = 404;

/** Who receives from a queue, and what waits in it. */
type QueueState = Record<'consumerCount' | 'messageCount', number>;

/** A connection for one command of an operator: it is not made again. @throws Error where no broker answers */
async function connectOnce(url: string): Promise<ChannelModel> {
  const connection = await connect(url, { noDelay: true, timeout: CONNECT_TIMEOUT_MS });
  connection.on('error', () => undefined);
  return connection;
}

/** Nobody and nothing, where there is no such queue. Asking for one that is not there ends the channel. */
async function queueState(connection: ChannelModel, queue: string): Promise<QueueState> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  try {
    return await channel.checkQueue(queue);
  } catch (error) {
    if ((error as { code?: unknown }).code === QUEUE_NOT_FOUND) return { consumerCount: 0, messageCount: 0 };
    throw error;
  } finally {
    await channel.close().catch(() => undefined);
  }
}
/**
 * How many messages wait in each queue. A queue that is gone is left out, and so is what stands behind it: the broker closes the
 * channel on such a question, which is why it is asked on one of its own.
 */
export async function queueDepths(
  connection: Pick<ChannelModel, 'createChannel'>,
  queues: readonly string[],
): Promise<Map<string, number>> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  const answers = await Promise.allSettled(queues.map((queue) => channel.checkQueue(queue)));
  channel.close().catch(() => undefined);
  return new Map(
    answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [[answer.value.queue, answer.value.messageCount]] : [],
    ),
  );
}

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

/** What operators can read from the queues: how many processes a service has, and how many events wait for it. */
export class BrokerQueues {
  readonly #topology: Topology;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
  }

  /** @throws Error where no broker answers */
  static async open(url: string, namespace: string): Promise<BrokerQueues> {
    return new BrokerQueues(await connectOnce(url), namespace);
  }

  /** How many processes answer the service's RPCs. */
  async replicas(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.rpcQueue(service))).consumerCount;
  }

  /** How many events wait to be handled by the service, or to be tried again. */
  async waitingEvents(service: string): Promise<number> {
    const queues = this.#topology.queuesOfWaitingEvents(service);
    const states = await Promise.all(queues.map((queue) => queueState(this.connection, queue)));
    return states.reduce((sum, { messageCount }) => sum + messageCount, 0);
  }

  async deadEvents(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.deadLetterQueue(service))).messageCount;
  }

  /** What the broker says of itself when a connection is made. */
  get brokerVersion(): string | undefined {
    const { serverProperties } = this.connection.connection as { serverProperties?: { version?: unknown } };
    return typeof serverProperties?.version === 'string' ? serverProperties.version : undefined;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
