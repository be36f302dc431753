import type { z } from 'zod';

/** Something that has happened and was committed. Named `noun.pastTense.vN`; changes are additive within a version. */
export interface EventContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
}

export type EventPayload<C extends EventContract> = z.output<C['payload']>;

/** Defines an event. */
export function event<Payload extends z.ZodType>(pattern: string, payload: Payload): EventContract<Payload> {
  return { pattern, payload };
}
