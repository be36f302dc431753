import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { encodeRequest } from './envelope.js';
import { assertFits } from './message-size.js';

/**
 * What a handler returns instead of a reply: the question goes on to another service, and that one answers whoever asked.
 * Nothing comes back this way, so nothing waits here.
 */
export class Forwarded<Reply = unknown> {
  /** Only for the compiler: the answer that the asking side will get. */
  declare protected readonly reply: Reply;

  constructor(
    readonly pattern: string,
    /** The question as text. */
    readonly body: string,
  ) {}
}

/**
 * Hands a question on to the service that owns the contract. The deadline stays that of whoever asked first.
 * @throws AppError OBJECT_TOO_LARGE where it does not fit into a message
 */
export function forward<C extends RpcContract>(contract: C, data: RpcData<C>): Forwarded<RpcReply<C>> {
  const body = encodeRequest({ pattern: contract.pattern, data });
  assertFits(body);
  return new Forwarded(contract.pattern, body);
}
