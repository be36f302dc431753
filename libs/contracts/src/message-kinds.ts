import { z } from 'zod';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

/** Any JSON object. The schema does not check the values: the output of `JSON.parse` is JSON already. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);

/** A request that one service serves. The pattern begins with the name of that service: `accounts.signUp`. */
export interface RpcContract<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly request: Request;
  readonly reply: Reply;
  /** Timeout of the caller, in milliseconds. */
  readonly timeoutMs: number;
}

export type RpcData<C extends RpcContract> = z.output<C['request']>;
export type RpcReply<C extends RpcContract> = z.output<C['reply']>;

const DEFAULT_TIMEOUT_MS = 5_000;
/**
 * Timeout of RPCs that hash passwords. Such RPCs queue for the hashing threads and take longer than others; clients still wait this long.
 */
export const PASSWORD_TIMEOUT_MS = 10_000;

/** Defines an RPC; request and reply types follow from the schemas. The default timeout is 5 seconds. */
export function rpc<Request extends z.ZodType, Reply extends z.ZodType>(
  pattern: string,
  request: Request,
  reply: Reply,
  timeoutMs: number = DEFAULT_TIMEOUT_MS,
): RpcContract<Request, Reply> {
  return { pattern, request, reply, timeoutMs };
}

/** A committed fact, named `noun.pastTense.vN`. Changes within a version are additive. */
export interface EventContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
  /**
   * The services that handle the event. The publisher declares their queues before it publishes, so that events wait for a service that has
   * never run.
   */
  readonly subscribers: readonly string[];
}

export type EventPayload<C extends EventContract> = z.output<C['payload']>;

/** Defines an event. The broker drops an event without subscribers. */
export function event<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
  { subscribers = [] }: { subscribers?: readonly string[] } = {},
): EventContract<Payload> {
  return { pattern, payload, subscribers };
}

/** A direct message to one process, addressed by name. It is lost with the process, and with the process's connection to the broker. */
export interface DirectMessageContract<Payload extends z.ZodType = z.ZodType> {
  readonly pattern: string;
  readonly payload: Payload;
}

export type DirectMessagePayload<C extends DirectMessageContract> = z.output<C['payload']>;

/** Defines a direct message to one process. */
export function directMessage<Payload extends z.ZodType>(
  pattern: string,
  payload: Payload,
): DirectMessageContract<Payload> {
  return { pattern, payload };
}
