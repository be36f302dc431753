import { type ChannelModel, type ConfirmChannel, connect, type GetMessage } from 'amqplib';
import { confirmedPublish } from './publisher.js';
import { originFrom, originHeaders, REASON_HEADER, Topology } from './topology.js';

const CONNECT_TIMEOUT_MS = 3_000;
const QUEUE_NOT_FOUND = 404;

/** The number of consumers and of waiting messages of a queue. */
type QueueState = Record<'consumerCount' | 'messageCount', number>;

/** A connection for one operator command, without reconnects. @throws Error where no broker is reachable */
async function connectOnce(url: string): Promise<ChannelModel> {
  const connection = await connect(url, { noDelay: true, timeout: CONNECT_TIMEOUT_MS });
  connection.on('error', () => undefined);
  return connection;
}

/** Zeros where the queue does not exist. Each check of a missing queue closes its channel. */
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
 * The number of messages in each queue. A missing queue is left out, and so are the queues after it, because the broker closes the channel
 * at the check of a missing queue. The checks therefore use a channel of their own.
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
  /** The error of the last attempt. */
  readonly reason: string;
}

/**
 * The dead-lettered events of the services. They can be counted and moved, but not read in place: a quorum queue counts each read as a
 * delivery, and drops a message after too many deliveries.
 */
export class DeadLetters {
  readonly #topology: Topology;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
  }

  /** @throws Error where no broker is reachable */
  static async open(url: string, namespace: string): Promise<DeadLetters> {
    return new DeadLetters(await connectOnce(url), namespace);
  }

  /** The number of a service's dead letters; 0 where it never had a queue. */
  async count(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.deadLetterQueue(service))).messageCount;
  }

  /**
   * Returns the current dead letters to their service, which handles them as new events. Each dead letter is removed once the broker has
   * confirmed its copy.
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

  /** Deletes the current dead letters. */
  async drop(service: string, onDropped: (letter: DeadLetter) => void): Promise<void> {
    await this.#take(service, (_, message) => {
      onDropped(letterOf(message));
      return Promise.resolve();
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Processes as many messages as there are at the start, so that newly dead-lettered events are not processed again. */
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
    reason: typeof reason === 'string' ? reason : 'the broker delivered it too often',
  };
}

/** Queue figures for operators: the number of processes of a service, and of its waiting events. */
export class BrokerQueues {
  readonly #topology: Topology;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
  }

  /** @throws Error where no broker is reachable */
  static async open(url: string, namespace: string): Promise<BrokerQueues> {
    return new BrokerQueues(await connectOnce(url), namespace);
  }

  /** The number of processes that serve the service's RPCs. */
  async replicas(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.rpcQueue(service))).consumerCount;
  }

  /** The number of events that wait for the service's first attempt or for a retry. */
  async waitingEvents(service: string): Promise<number> {
    const queues = this.#topology.queuesOfWaitingEvents(service);
    const states = await Promise.all(queues.map((queue) => queueState(this.connection, queue)));
    return states.reduce((sum, { messageCount }) => sum + messageCount, 0);
  }

  async deadEvents(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.deadLetterQueue(service))).messageCount;
  }

  /** The version that the broker reports at the connection. */
  get brokerVersion(): string | undefined {
    const { serverProperties } = this.connection.connection as { serverProperties?: { version?: unknown } };
    return typeof serverProperties?.version === 'string' ? serverProperties.version : undefined;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
