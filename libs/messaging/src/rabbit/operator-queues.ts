import { connect, type ChannelModel } from 'amqplib';

const CONNECT_TIMEOUT_MS = 3_000;
const QUEUE_NOT_FOUND = 404;

/** Who receives from a queue, and what waits in it. */
type QueueState = Record<'consumerCount' | 'messageCount', number>;

/** A connection for one command of an operator: it is not made again. @throws Error where no broker answers */
export async function connectOnce(url: string): Promise<ChannelModel> {
  const connection = await connect(url, { noDelay: true, timeout: CONNECT_TIMEOUT_MS });
  connection.on('error', () => undefined);
  return connection;
}

/** Nobody and nothing, where there is no such queue. Asking for one that is not there ends the channel. */
export async function queueState(connection: ChannelModel, queue: string): Promise<QueueState> {
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
