import type { z } from 'zod';

/** A message for one process that is known by its name. It is lost with the process, and with its connection to the broker. */
export interface NodeMessageContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
}

export type NodeMessagePayload<C extends NodeMessageContract> = z.output<C['payload']>;

/** Defines a message for one process. */
export function nodeMessage<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
): NodeMessageContract<Payload> {
  return { pattern, payload };
}
