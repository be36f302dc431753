import { appError } from '#errors';

/** The longest message, in bytes. RabbitMQ 4 closes the channel on more than 16 MiB. */
export const MAX_MESSAGE_BYTES = 12 * 1_024 * 1_024;

/** @throws AppError OBJECT_TOO_LARGE where the text is longer than a message may be */
export function assertFits(text: string | Buffer): void {
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES) throw appError('OBJECT_TOO_LARGE');
}
