import type { z } from 'zod';

/** Something that has happened and was committed. Named `noun.pastTense.vN`; changes are additive within a version. */
export interface EventContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
  /** The services that handle it. Their queues are there before it is first published, so it waits for them. */
  readonly subscribers: readonly string[];
}

export type EventPayload<C extends EventContract> = z.output<C['payload']>;

/** Defines an event. One without subscribers is dropped by the broker. */
export function event<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
  { subscribers = [] }: { subscribers?: readonly string[] } = {},
): EventContract<Payload> {
  return { pattern, payload, subscribers };
}
