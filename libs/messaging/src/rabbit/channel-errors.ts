import { Logger } from '@nestjs/common';
import type { ChannelWrapper } from 'amqp-connection-manager';

/** A channel that fails to set up says so and is set up again; without a listener its error would end the process. */
export function reportErrors(channel: ChannelWrapper): void {
  const logger = new Logger('RabbitMQ');
  channel.on('error', (error: Error) => {
    logger.warn(`channel: ${error.message}`);
  });
}
