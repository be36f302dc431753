import type { ConfirmChannel, Options } from 'amqplib';

const CONFIRM_TIMEOUT_MS = 5_000;

/** Where a message goes. */
export interface Route {
  readonly exchange: string;
  readonly routingKey: string;
}

/** Publishes a message. Resolves once the broker has it; rejects where it refuses, or says nothing for 5 seconds. */
export function confirmedPublish(
  channel: ConfirmChannel,
  { exchange, routingKey }: Route,
  content: Buffer,
  options: Options.Publish,
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.publish(exchange, routingKey, content, options, (error: unknown) => {
      clearTimeout(timer);
      if (error instanceof Error) reject(error);
      else resolve();
    });
    const timer = setTimeout(() => {
      reject(new Error('the message broker did not confirm in time'));
    }, CONFIRM_TIMEOUT_MS);
  });
}
