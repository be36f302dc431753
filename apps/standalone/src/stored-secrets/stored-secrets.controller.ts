import { Controller } from '@nestjs/common';
import { keptSecretsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { StoredSecretsService } from './stored-secrets.service.js';

@Controller()
export class StoredSecretsController {
  constructor(private readonly secrets: StoredSecretsService) {}

  @RpcHandler(keptSecretsRpc.swap)
  swap(_: RpcData<typeof keptSecretsRpc.swap>): Promise<RpcReply<typeof keptSecretsRpc.swap>> {
    this.secrets.swap();
    return Promise.resolve({});
  }

  @RpcHandler(keptSecretsRpc.forget)
  forget(_: RpcData<typeof keptSecretsRpc.forget>): Promise<RpcReply<typeof keptSecretsRpc.forget>> {
    this.secrets.forget();
    return Promise.resolve({});
  }
}
