import { type Channel, type ChannelModel, type ConfirmChannel, connect, type GetMessage, type Options } from 'amqplib';
import { appError, messageOf, withTimeout } from '#errors';
import { originFrom, originHeaders, REASON_HEADER } from '../transport.js';
import { describeFailure, loginOf, socketOf } from './broker-connection.js';
import { confirmedPublish } from './publisher.js';
import { Topology } from './topology.js';

const CONNECT_TIMEOUT_MS = 3_000;
/** A broker that accepts no messages does not confirm a close. */
const CLOSE_TIMEOUT_MS = 1_000;
const QUEUE_NOT_FOUND = 404;

type QueueState = Record<'consumerCount' | 'messageCount', number>;

/** A connection for one operator command, without reconnects. @throws Error that says why the broker cannot be used */
async function connectOnce(url: string): Promise<ChannelModel> {
  const options = { ...loginOf(url), noDelay: true, timeout: CONNECT_TIMEOUT_MS };
  const connection = await connect(url, options).catch((cause: unknown) => {
    throw new Error(describeFailure(cause as Error), { cause });
  });
  connection.on('error', () => undefined);
  return connection;
}

async function closeConnection(connection: ChannelModel): Promise<void> {
  await closeInTime(connection);
  // Without an answer, the open connection would keep the process alive.
  socketOf(connection).destroy();
}

async function closeInTime(open: Pick<Channel | ChannelModel, 'close'>): Promise<void> {
  await withTimeout(Promise.allSettled([open.close()]), CLOSE_TIMEOUT_MS);
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
    await closeInTime(channel);
  }
}

export interface DeadLetter {
  readonly id: string;
  readonly pattern: string;
  readonly reason: string;
}

interface ReadDeadLetter extends DeadLetter {
  readonly body: string;
  /** Null for letters of versions before 0.1.0. */
  readonly diedAt: Date | null;
}

/** Header of the broker: how often a message was delivered and returned. */
const DELIVERY_COUNT_HEADER = 'x-delivery-count';
/** RabbitMQ 4 drops a message of a quorum queue at the 21st return, where no policy says otherwise. */
const MAX_RETURNS = 10;

/** The dead-lettered events of the services. Methods throw AppError SERVICE_UNAVAILABLE where the broker refuses or does not answer. */
export class DeadLetters {
  readonly #topology: Topology;
  #blockedFor: string | undefined;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
    connection.on('blocked', (reason: string) => (this.#blockedFor = reason));
    connection.on('unblocked', () => (this.#blockedFor = undefined));
  }

  static async open(url: string, namespace: string): Promise<DeadLetters> {
    return new DeadLetters(await connectOnce(url), namespace);
  }

  async count(service: string): Promise<number> {
    return (await this.#answered(queueState(this.connection, this.#topology.deadLetterQueue(service)))).messageCount;
  }

  /** Reads the oldest, which return to their places afterwards. The broker drops one after too many returns: after ten, a copy replaces it. */
  async peek(service: string, limit: number): Promise<ReadDeadLetter[]> {
    const queue = this.#topology.deadLetterQueue(service);
    const count = Math.min(limit, await this.count(service));
    return this.#withChannel(async (channel) => {
      const read: GetMessage[] = [];
      while (read.length < count) {
        const message = await this.#answered(channel.get(queue));
        if (message === false) break;
        read.push(message);
      }
      for (const message of read.filter(isWorn)) await this.#move(channel, message, queue);
      return read.map(readLetterOf);
    });
  }

  /** Returns the current dead letters to their service as new events; each is removed once the broker has confirmed its copy. */
  async replay(service: string, onMoved: (letter: DeadLetter) => void): Promise<void> {
    await this.#take(service, async (channel, message) => {
      await this.#answered(copyTo(channel, message, this.#topology.eventQueue(service)));
      onMoved(letterOf(message));
    });
  }

  async drop(service: string, onDropped: (letter: DeadLetter) => void): Promise<void> {
    await this.#take(service, (_, message) => {
      onDropped(letterOf(message));
      return Promise.resolve();
    });
  }

  async close(): Promise<void> {
    await closeConnection(this.connection);
  }

  /** Processes as many messages as there are at the start, so that newly dead-lettered events are not processed again. */
  async #take(service: string, work: (channel: ConfirmChannel, message: GetMessage) => Promise<void>): Promise<void> {
    const count = await this.count(service);
    await this.#withChannel(async (channel) => {
      for (let index = 0; index < count; index += 1) {
        const message = await this.#answered(channel.get(this.#topology.deadLetterQueue(service)));
        if (message === false) return;
        await work(channel, message);
        channel.ack(message);
      }
    });
  }

  async #move(channel: ConfirmChannel, message: GetMessage, queue: string): Promise<void> {
    const { reason } = letterOf(message);
    const timestamp = secondOfDeath(message);
    const more = { headers: { [REASON_HEADER]: reason }, ...(timestamp === undefined ? {} : { timestamp }) };
    await this.#answered(copyTo(channel, message, queue, more));
    channel.ack(message);
  }

  async #withChannel<T>(work: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
    const channel = await this.#answered(this.connection.createConfirmChannel());
    channel.on('error', () => undefined);
    try {
      return await work(channel);
    } finally {
      await closeInTime(channel);
    }
  }

  async #answered<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      const reason = this.#blockedFor === undefined ? messageOf(cause) : `it accepts no messages: ${this.#blockedFor}`;
      throw appError('SERVICE_UNAVAILABLE', { message: `The message broker: ${reason}.`, cause });
    }
  }
}

async function copyTo(
  channel: ConfirmChannel,
  { properties, content }: GetMessage,
  queue: string,
  { headers, ...more }: Pick<Options.Publish, 'headers' | 'timestamp'> = {},
): Promise<void> {
  const { messageId, type } = properties as { messageId: string; type: string };
  await confirmedPublish(channel, { exchange: '', routingKey: queue }, content, {
    persistent: true,
    mandatory: true,
    messageId,
    type,
    headers: { ...originHeaders(originFrom(properties.headers)), ...(headers as object | undefined) },
    ...more,
  });
}

function isWorn({ properties }: GetMessage): boolean {
  return Number(properties.headers?.[DELIVERY_COUNT_HEADER] ?? 0) >= MAX_RETURNS;
}

/** In seconds since 1970: of the service that has put the letter aside, else of the broker. */
function secondOfDeath({ properties }: GetMessage): number | undefined {
  const [death] = (properties.headers?.['x-death'] ?? []) as readonly {
    readonly time?: { readonly value?: unknown };
  }[];
  const second: unknown = (properties.timestamp as unknown) ?? death?.time?.value;
  return typeof second === 'number' ? second : undefined;
}

function readLetterOf(message: GetMessage): ReadDeadLetter {
  const second = secondOfDeath(message);
  const diedAt = second === undefined ? null : new Date(second * 1_000);
  return { ...letterOf(message), body: message.content.toString('utf8'), diedAt };
}

function letterOf({ properties }: GetMessage): DeadLetter {
  const reason: unknown = properties.headers?.[REASON_HEADER];
  return {
    id: String(properties.messageId),
    pattern: String(properties.type),
    reason: typeof reason === 'string' ? reason : 'the broker delivered it too often',
  };
}

export class BrokerQueues {
  readonly #topology: Topology;

  private constructor(
    private readonly connection: ChannelModel,
    namespace: string,
  ) {
    this.#topology = new Topology(namespace);
  }

  static async open(url: string, namespace: string): Promise<BrokerQueues> {
    return new BrokerQueues(await connectOnce(url), namespace);
  }

  async replicas(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.rpcQueue(service))).consumerCount;
  }

  async waitingEvents(service: string): Promise<number> {
    const queues = this.#topology.queuesOfWaitingEvents(service);
    const states = await Promise.all(queues.map((queue) => queueState(this.connection, queue)));
    return states.reduce((sum, { messageCount }) => sum + messageCount, 0);
  }

  async deadEvents(service: string): Promise<number> {
    return (await queueState(this.connection, this.#topology.deadLetterQueue(service))).messageCount;
  }

  get brokerVersion(): string | undefined {
    const { serverProperties } = this.connection.connection as { serverProperties?: { version?: unknown } };
    return typeof serverProperties?.version === 'string' ? serverProperties.version : undefined;
  }

  async close(): Promise<void> {
    await closeConnection(this.connection);
  }
}
