import { Inject, Injectable } from '@nestjs/common';
import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { inSpan } from '#observability';
import { decodeReply, encodeRequest } from './envelope.js';
import { type Requester, TRANSPORT } from './transport.js';

/** Asks other services. */
@Injectable()
export class RpcClient {
  constructor(@Inject(TRANSPORT) private readonly transport: Requester) {}

  /**
   * Calls the service that owns the contract and returns its parsed reply.
   * @throws AppError the service's own error, or SERVICE_UNAVAILABLE after the contract's timeout
   */
  async call<C extends RpcContract>(contract: C, data: RpcData<C>): Promise<RpcReply<C>> {
    const { pattern, timeoutMs } = contract;
    return inSpan({ name: pattern, kind: 'client' }, async () => {
      const reply = await this.transport.request(pattern, encodeRequest({ pattern, data }), timeoutMs);
      return contract.reply.parse(decodeReply(reply)) as RpcReply<C>;
    });
  }
}
