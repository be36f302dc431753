import { applyDecorators, UseFilters, UsePipes } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import type { RpcContract, RpcData, RpcReply } from '#contracts';
import { ContractPipe } from './contract.pipe.js';
import { WireErrorFilter } from './wire-error.filter.js';

type RpcMethod<C extends RpcContract> = (data: RpcData<C>) => Promise<RpcReply<C>>;

/** Binds a controller method to a contract. The compiler checks the method against the contract's types. */
export function RpcHandler<C extends RpcContract>(contract: C) {
  const decorate = applyDecorators(
    MessagePattern(contract.pattern),
    UsePipes(ContractPipe.forRpc(contract.request)),
    UseFilters(WireErrorFilter),
  );
  return (target: object, key: string, descriptor: TypedPropertyDescriptor<RpcMethod<C>>): void => {
    decorate(target, key, descriptor);
  };
}
