import type { MessageProperties } from 'amqplib';
import type { MessageOrigin } from '../transport.js';

const TRACEPARENT = 'traceparent';
const REQUEST_ID = 'x-gatepost-request-id';

type Headers = MessageProperties['headers'];

/** Where a message comes from, beside the message: who does not know these headers passes them over. */
export function originHeaders({ requestId, traceparent }: MessageOrigin): Record<string, string> {
  return {
    ...(traceparent !== undefined && { [TRACEPARENT]: traceparent }),
    ...(requestId !== undefined && { [REQUEST_ID]: requestId }),
  };
}

export function originFrom(headers: Headers): MessageOrigin {
  return { traceparent: textOf(headers?.[TRACEPARENT]), requestId: textOf(headers?.[REQUEST_ID]) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
