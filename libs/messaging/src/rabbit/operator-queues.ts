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
