import { applyDecorators, UseFilters, UsePipes } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { ContractPipe } from './contract.pipe.js';
import type { Forwarded } from './forwarded.js';
import { WireErrorFilter } from './wire-error.filter.js';

type RpcMethod<C extends RpcContract> = (data: RpcData<C>) => Promise<RpcReply<C> | Forwarded<RpcReply<C>>>;

/** Binds a controller method to a contract. The compiler checks the method against the contract's types. */
export function RpcHandler<C extends RpcContract>(contract: C) {
  const decorate = applyDecorators(
    MessagePattern(contract.pattern),
    UsePipes(ContractPipe.forRpc(contract.request)),
    UseFilters(WireErrorFilter),
  );
  return <Method extends RpcMethod<C>>(
    target: object,
    key: string,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    decorate(target, key, descriptor);
  };
}
