import { Controller } from '@nestjs/common';
import { emailsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { EmailsService } from './emails.service.js';

type Emails = typeof emailsRpc;

@Controller()
export class EmailsController {
  constructor(private readonly emails: EmailsService) {}

  @RpcHandler(emailsRpc.requestVerification)
  async requestVerification({
    caller,
    body,
  }: RpcData<Emails['requestVerification']>): Promise<RpcReply<Emails['requestVerification']>> {
    await this.emails.requestVerification(caller, body);
    return {};
  }

  @RpcHandler(emailsRpc.requestPasswordReset)
  async requestPasswordReset({
    caller,
    body,
  }: RpcData<Emails['requestPasswordReset']>): Promise<RpcReply<Emails['requestPasswordReset']>> {
    await this.emails.requestPasswordReset(caller, body);
    return {};
  }

  @RpcHandler(emailsRpc.inspectLink)
  async inspectLink({ kind, token }: RpcData<Emails['inspectLink']>): Promise<RpcReply<Emails['inspectLink']>> {
    return { link: await this.emails.inspect(kind, token) };
  }

  @RpcHandler(emailsRpc.renewLink)
  async renewLink({ kind, token, languages }: RpcData<Emails['renewLink']>): Promise<RpcReply<Emails['renewLink']>> {
    await this.emails.renew(kind, token, languages);
    return {};
  }

  @RpcHandler(emailsRpc.verify)
  async verify({ token }: RpcData<Emails['verify']>): Promise<RpcReply<Emails['verify']>> {
    return { link: await this.emails.verify(token) };
  }

  @RpcHandler(emailsRpc.resetPassword)
  async resetPassword({
    token,
    password,
  }: RpcData<Emails['resetPassword']>): Promise<RpcReply<Emails['resetPassword']>> {
    await this.emails.resetPassword(token, password);
    return {};
  }
}
