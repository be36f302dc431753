import type { AmqpConnectionManager } from 'amqp-connection-manager';
import type { Channel, ConsumeMessage } from 'amqplib';
import type { NodeReceiver } from '../transport.js';
import { LastingChannel } from './lasting-channel.js';
import { originFrom } from './origin-headers.js';
import type { Topology } from './topology.js';

/** Messages in hand at once; the others wait with the broker, and then with their senders. */
const PREFETCH = 16;

/** What is sent to this process by its name. Each message is acknowledged when it was handled, well or badly. */
export class NodeInbox {
  readonly #channel: LastingChannel<Channel>;

  constructor(
    connection: AmqpConnectionManager,
    private readonly topology: Topology,
    private readonly node: string,
    private readonly receiver: NodeReceiver,
  ) {
    this.#channel = LastingChannel.plain(connection, (channel, lose) => this.#consume(channel, lose));
  }

  isReceiving(): boolean {
    return this.#channel.current !== undefined;
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  async #consume(channel: Channel, lose: () => void): Promise<void> {
    const queue = await this.topology.declareNodeQueue(channel, this.node);
    await channel.prefetch(PREFETCH);
    await channel.consume(queue, (message) => {
      if (message === null) lose();
      else void this.#receive(channel, message);
    });
    this.receiver.connected();
  }

  async #receive(channel: Channel, message: ConsumeMessage): Promise<void> {
    try {
      const { traceparent } = originFrom(message.properties.headers);
      await this.receiver.receive({
        pattern: String(message.properties.type),
        body: message.content.toString(),
        traceparent,
      });
    } finally {
      acknowledge(channel, message);
    }
  }
}

function acknowledge(channel: Channel, message: ConsumeMessage): void {
  try {
    channel.ack(message);
  } catch {
    // IllegalOperationError: the channel is gone, and its queue with it.
  }
}
