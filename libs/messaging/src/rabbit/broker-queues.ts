import type { ChannelModel } from 'amqplib';
import { connectOnce, queueState } from './operator-queues.js';
import { Topology } from './topology.js';

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
