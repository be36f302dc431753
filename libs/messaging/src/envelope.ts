import { z } from 'zod';
import { type AppError, appError, fromWireError, toWireError } from '#errors';
import { currentTraceparent } from '#observability';

const requestEnvelope = z.object({
  pattern: z.string(),
  data: z.unknown(),
  /** The asker's span, where there is one. Older versions neither send nor read it; what is no text is passed over. */
  traceparent: z.string().optional().catch(undefined),
});
const replyEnvelope = z.union([z.object({ error: z.unknown() }), z.object({ data: z.unknown() })]);

export type RequestEnvelope = z.output<typeof requestEnvelope>;

/** A question as text, with the trace that it belongs to. */
export function encodeRequest({ pattern, data }: Pick<RequestEnvelope, 'pattern' | 'data'>): string {
  return JSON.stringify({ pattern, data, traceparent: currentTraceparent() });
}

/** @throws AppError INTERNAL where the text is no request */
export function decodeRequest(text: string): RequestEnvelope {
  return parse(requestEnvelope, text);
}

export function encodeReply(data: unknown): string {
  return JSON.stringify({ data });
}

export function encodeError(error: AppError): string {
  return JSON.stringify({ error: toWireError(error) });
}

/** @throws AppError the one that the other side answered with, or INTERNAL where the text is no reply */
export function decodeReply(text: string): unknown {
  const reply = parse(replyEnvelope, text);
  if ('error' in reply) throw fromWireError(reply.error);
  return reply.data;
}

function parse<T>(envelope: z.ZodType<T>, text: string): T {
  try {
    return envelope.parse(JSON.parse(text));
  } catch (cause) {
    throw appError('INTERNAL', { cause });
  }
}
