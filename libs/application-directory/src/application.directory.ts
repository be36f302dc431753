import { Injectable } from '@nestjs/common';
import { accountsRpc, type Application, appId as appIdSchema, broadcastHints } from '#contracts';
import { Broadcasts, RpcClient } from '#messaging';
import { RecentReads } from '#recent-reads';

/** The applications that requests name, asked from accounts. */
@Injectable()
export class ApplicationDirectory {
  readonly #answers = new RecentReads((appId) => this.rpc.call(accountsRpc.findApplication, { appId }));

  constructor(
    private readonly rpc: RpcClient,
    broadcasts: Broadcasts,
  ) {
    broadcasts.on(broadcastHints.applicationChanged, ({ appId }) => {
      this.#answers.forget(appId);
    });
  }

  async find(appId: string): Promise<Application | null> {
    // What no application can be called, nobody has to be asked for.
    if (!appIdSchema.safeParse(appId).success) return null;
    return (await this.#answers.get(appId)).application;
  }
}
