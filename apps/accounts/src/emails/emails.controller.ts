import { Controller } from '@nestjs/common';
import { emailsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { EmailVerificationService } from './email-verification.service.js';
import { LinkInspectionService } from './link-inspection.service.js';
import { LinkRenewalService } from './link-renewal.service.js';
import { PasswordResetService } from './password-reset.service.js';

type Emails = typeof emailsRpc;

@Controller()
export class EmailsController {
  constructor(
    private readonly verification: EmailVerificationService,
    private readonly resets: PasswordResetService,
    private readonly inspection: LinkInspectionService,
    private readonly renewal: LinkRenewalService,
  ) {}

  @RpcHandler(emailsRpc.requestVerification)
  async requestVerification({
    caller,
    body,
  }: RpcData<Emails['requestVerification']>): Promise<RpcReply<Emails['requestVerification']>> {
    await this.verification.request(caller, body);
    return {};
  }

  @RpcHandler(emailsRpc.requestPasswordReset)
  async requestPasswordReset({
    caller,
    body,
  }: RpcData<Emails['requestPasswordReset']>): Promise<RpcReply<Emails['requestPasswordReset']>> {
    await this.resets.request(caller, body);
    return {};
  }

  @RpcHandler(emailsRpc.inspectLink)
  async inspectLink({ kind, token }: RpcData<Emails['inspectLink']>): Promise<RpcReply<Emails['inspectLink']>> {
    return { link: await this.inspection.inspect(kind, token) };
  }

  @RpcHandler(emailsRpc.renewLink)
  async renewLink({ kind, token, languages }: RpcData<Emails['renewLink']>): Promise<RpcReply<Emails['renewLink']>> {
    await this.renewal.renew(kind, token, languages);
    return {};
  }

  @RpcHandler(emailsRpc.verify)
  async verify({ token }: RpcData<Emails['verify']>): Promise<RpcReply<Emails['verify']>> {
    return { link: await this.verification.verify(token) };
  }

  @RpcHandler(emailsRpc.resetPassword)
  async resetPassword({
    token,
    password,
  }: RpcData<Emails['resetPassword']>): Promise<RpcReply<Emails['resetPassword']>> {
    await this.resets.reset(token, password);
    return {};
  }
}
