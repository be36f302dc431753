import { Injectable } from '@nestjs/common';
import { accountsRpc, type Caller, type Principal } from '#contracts';
import { RpcClient } from '#messaging';
import { ANONYMOUS } from '#objects';

/** Resolves the principal of a request for services that have no users. */
@Injectable()
export class Principals {
  constructor(private readonly rpc: RpcClient) {}

  /** Calls accounts only if a session can make a difference. */
  async of(caller: Caller): Promise<Principal> {
    if (caller.isMaster || caller.sessionToken === undefined) return ANONYMOUS;
    return (await this.rpc.call(accountsRpc.resolvePrincipal, { caller })).principal;
  }
}
