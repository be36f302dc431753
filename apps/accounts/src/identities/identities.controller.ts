import { Controller } from '@nestjs/common';
import { accountsRpc, identitiesRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { IdentityEntryService } from './identity-entry.service.js';
import { IdentityReportService } from './identity-report.service.js';

type Accounts = typeof accountsRpc;
type Identities = typeof identitiesRpc;

@Controller()
export class IdentitiesController {
  constructor(
    private readonly entries: IdentityEntryService,
    private readonly reports: IdentityReportService,
  ) {}

  @RpcHandler(accountsRpc.signUpOrLogInByIdentity)
  async signUpOrLogIn({
    caller,
    ...request
  }: RpcData<Accounts['signUpOrLogInByIdentity']>): Promise<RpcReply<Accounts['signUpOrLogInByIdentity']>> {
    return this.entries.enter(caller, request);
  }

  @RpcHandler(identitiesRpc.count)
  async count({ appId }: RpcData<Identities['count']>): Promise<RpcReply<Identities['count']>> {
    return { platforms: await this.reports.count(appId) };
  }
}
