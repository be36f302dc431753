import { Inject, Injectable } from '@nestjs/common';
import { type accountsSealingRpc, MAX_CODE_TTL_MINUTES, type RpcReply } from '#contracts';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { SecretRotationsRepository } from './secret-rotations.repository.js';

const MINUTE_MS = 60_000;

/** Computes how long links and codes in transit may need a replaced secret. */
@Injectable()
export class SecretRotationsService {
  constructor(
    private readonly rotations: SecretRotationsRepository,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'linkLifetimesMs'>,
  ) {}

  record(keyId: string, isChanged: boolean): Promise<void> {
    return this.rotations.record(keyId, isChanged);
  }

  /** The links and codes that were created just before the rotation was complete expire last. */
  async find(keyId: string): Promise<RpcReply<typeof accountsSealingRpc.getRotation>> {
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
