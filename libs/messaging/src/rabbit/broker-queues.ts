import { connect, type ChannelModel } from 'amqplib';
import { Topology } from './topology.js';

const CONNECT_TIMEOUT_MS = 3_000;
const QUEUE_NOT_FOUND = 404;

type QueueState = Record<'consumerCount' | 'messageCount', number>;

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
    const connection = await connect(url, { noDelay: true, timeout: CONNECT_TIMEOUT_MS });
    connection.on('error', () => undefined);
    return new BrokerQueues(connection, namespace);
  }

  /** How many processes answer the service's RPCs. */
  async replicas(service: string): Promise<number> {
    return (await this.#stateOf(this.#topology.rpcQueue(service))).consumerCount;
  }

  /** How many events wait to be handled by the service, or to be tried again. */
  async waitingEvents(service: string): Promise<number> {
    const retries = this.#topology.retryDelaysMs.map((_, index) => this.#topology.retryQueue(service, index + 1));
    const states = await Promise.all(
      [this.#topology.eventQueue(service), ...retries].map((queue) => this.#stateOf(queue)),
    );
    return states.reduce((sum, { messageCount }) => sum + messageCount, 0);
  }

  async deadEvents(service: string): Promise<number> {
    return (await this.#stateOf(this.#topology.deadLetterQueue(service))).messageCount;
  }

  /** What the broker says of itself when a connection is made. */
  get brokerVersion(): string | undefined {
    const { serverProperties } = this.connection.connection as { serverProperties?: { version?: unknown } };
    return typeof serverProperties?.version === 'string' ? serverProperties.version : undefined;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Nobody and nothing, where there is no such queue. Asking for one that is not there ends the channel. */
  async #stateOf(queue: string): Promise<QueueState> {
    const channel = await this.connection.createChannel();
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
}
