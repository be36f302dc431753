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
