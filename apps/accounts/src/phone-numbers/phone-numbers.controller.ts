import { Controller } from '@nestjs/common';
import { phoneNumbersRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { CodeRequestsService } from './code-requests.service.js';
import { PhoneEntryService } from './phone-entry.service.js';
import { PhonePasswordResetService } from './phone-password-reset.service.js';
import { PhoneVerificationService } from './phone-verification.service.js';

type Rpc = typeof phoneNumbersRpc;

@Controller()
export class PhoneNumbersController {
  constructor(
    private readonly requests: CodeRequestsService,
    private readonly verifications: PhoneVerificationService,
    private readonly entries: PhoneEntryService,
    private readonly passwordResets: PhonePasswordResetService,
  ) {}

  @RpcHandler(phoneNumbersRpc.requestCode)
  async requestCode({ caller, body }: RpcData<Rpc['requestCode']>): Promise<RpcReply<Rpc['requestCode']>> {
    await this.requests.requestCode(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.verifyCode)
  async verifyCode({ caller, code, body }: RpcData<Rpc['verifyCode']>): Promise<RpcReply<Rpc['verifyCode']>> {
    await this.verifications.verifyCode(caller, code, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.enter)
  async enter({ caller, body }: RpcData<Rpc['enter']>): Promise<RpcReply<Rpc['enter']>> {
    return this.entries.enter(caller, body);
  }

  @RpcHandler(phoneNumbersRpc.requestLoginCode)
  async requestLogin({ caller, body }: RpcData<Rpc['requestLoginCode']>): Promise<RpcReply<Rpc['requestLoginCode']>> {
    await this.requests.requestLogin(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.requestVerification)
  async requestVerification({
    caller,
    body,
  }: RpcData<Rpc['requestVerification']>): Promise<RpcReply<Rpc['requestVerification']>> {
    await this.requests.requestVerification(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.verify)
  async verify({ caller, code, body }: RpcData<Rpc['verify']>): Promise<RpcReply<Rpc['verify']>> {
    return { result: await this.verifications.verifyPhone(caller, code, body) };
  }

  @RpcHandler(phoneNumbersRpc.requestPasswordReset)
  async requestPasswordReset({
    caller,
    body,
  }: RpcData<Rpc['requestPasswordReset']>): Promise<RpcReply<Rpc['requestPasswordReset']>> {
    await this.requests.requestPasswordReset(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.resetPassword)
  async resetPassword({ caller, code, body }: RpcData<Rpc['resetPassword']>): Promise<RpcReply<Rpc['resetPassword']>> {
    await this.passwordResets.reset(caller, code, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.requestChange)
  async requestChange({ caller, body }: RpcData<Rpc['requestChange']>): Promise<RpcReply<Rpc['requestChange']>> {
    await this.requests.requestChange(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.change)
  async change({ caller, body }: RpcData<Rpc['change']>): Promise<RpcReply<Rpc['change']>> {
    await this.verifications.changePhone(caller, body);
    return {};
  }
}
