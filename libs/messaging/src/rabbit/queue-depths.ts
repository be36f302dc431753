import type { ChannelModel } from 'amqplib';

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
