import { Controller, Inject } from '@nestjs/common';
import { accountsSealingRpc, MAX_CODE_TTL_MINUTES, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { SealedRows } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { SecretRotationsRepository } from './secret-rotations.repository.js';

type Rpc = typeof accountsSealingRpc;

const MINUTE_MS = 60_000;

/** The RPCs of operators that replace the deployment's secret. */
@Controller()
export class SecretsController {
  constructor(
    private readonly rows: SealedRows,
    private readonly rotations: SecretRotationsRepository,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'linkLifetimesMs'>,
  ) {}

  @RpcHandler(accountsSealingRpc.describe)
  describe(_: RpcData<Rpc['describe']>): Promise<RpcReply<Rpc['describe']>> {
    return Promise.resolve(this.rows.describe());
  }

  @RpcHandler(accountsSealingRpc.walk)
  walk(request: RpcData<Rpc['walk']>): Promise<RpcReply<Rpc['walk']>> {
    return this.rows.walk(request);
  }

  @RpcHandler(accountsSealingRpc.recordRotation)
  async recordRotation({ keyId, isChanged }: RpcData<Rpc['recordRotation']>): Promise<RpcReply<Rpc['recordRotation']>> {
    await this.rotations.record(keyId, isChanged);
    return {};
  }

  /**
   * How long links and codes in transit may need a replaced secret: those that were created just before the rotation was complete
   * expire last.
   */
  @RpcHandler(accountsSealingRpc.getRotation)
  async getRotation({ keyId }: RpcData<Rpc['getRotation']>): Promise<RpcReply<Rpc['getRotation']>> {
    const completedAt = await this.rotations.find(keyId);
    if (completedAt === undefined) return { linksUntil: null, codesUntil: null };
    const after = (milliseconds: number) => new Date(completedAt.getTime() + milliseconds).toISOString();
    const { linkLifetimesMs } = this.config;
    return {
      linksUntil: after(Math.max(linkLifetimesMs.verifyEmail, linkLifetimesMs.resetPassword)),
      codesUntil: after(MAX_CODE_TTL_MINUTES * MINUTE_MS),
    };
  }
}
