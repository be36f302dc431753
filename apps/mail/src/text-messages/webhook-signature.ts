import { createHmac } from 'node:crypto';

/** What proves to a webhook that a request is ours, and when it was made (docs/mail.md shows how it is checked). */
export function webhookSignature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}
