import type { z } from 'zod';

/** A question that one service answers. Its pattern begins with that service's name: `accounts.signUp`. */
export interface RpcContract<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly request: Request;
  readonly reply: Reply;
  /** How long the caller waits, in milliseconds. */
  readonly timeoutMs: number;
}

export type RpcData<C extends RpcContract> = z.output<C['request']>;
export type RpcReply<C extends RpcContract> = z.output<C['reply']>;

const DEFAULT_TIMEOUT_MS = 5_000;
/** Passwords wait for the hashing threads: longer than other calls, still within a client's patience. */
export const PASSWORD_TIMEOUT_MS = 10_000;

/** Defines an RPC; request and reply types follow from the schemas. Timeout: 5 seconds unless given. */
export function rpc<Request extends z.ZodType, Reply extends z.ZodType>(
  pattern: string,
  request: Request,
  reply: Reply,
  timeoutMs: number = DEFAULT_TIMEOUT_MS,
): RpcContract<Request, Reply> {
  return { pattern, request, reply, timeoutMs };
}

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
