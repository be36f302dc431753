import { Controller } from '@nestjs/common';
import { phoneNumbersRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { PhoneLoginService } from './phone-login.service.js';
import { PhoneNumbersService } from './phone-numbers.service.js';

type Rpc = typeof phoneNumbersRpc;

@Controller()
export class PhoneNumbersController {
  constructor(
    private readonly numbers: PhoneNumbersService,
    private readonly logins: PhoneLoginService,
  ) {}

  @RpcHandler(phoneNumbersRpc.requestCode)
  async requestCode({ caller, body }: RpcData<Rpc['requestCode']>): Promise<RpcReply<Rpc['requestCode']>> {
    await this.numbers.requestCode(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.verifyCode)
  async verifyCode({ caller, code, body }: RpcData<Rpc['verifyCode']>): Promise<RpcReply<Rpc['verifyCode']>> {
    await this.numbers.verifyCode(caller, code, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.enter)
  async enter({ caller, body }: RpcData<Rpc['enter']>): Promise<RpcReply<Rpc['enter']>> {
    return this.logins.signUpOrLogIn(caller, body);
  }

  @RpcHandler(phoneNumbersRpc.requestLoginCode)
  async requestLogin({ caller, body }: RpcData<Rpc['requestLoginCode']>): Promise<RpcReply<Rpc['requestLoginCode']>> {
    await this.numbers.requestLogin(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.requestVerification)
  async requestVerification({
    caller,
    body,
  }: RpcData<Rpc['requestVerification']>): Promise<RpcReply<Rpc['requestVerification']>> {
    await this.numbers.requestVerification(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.verify)
  async verify({ caller, code, body }: RpcData<Rpc['verify']>): Promise<RpcReply<Rpc['verify']>> {
    return { result: await this.numbers.verifyPhone(caller, code, body) };
  }

  @RpcHandler(phoneNumbersRpc.requestPasswordReset)
  async requestPasswordReset({
    caller,
    body,
  }: RpcData<Rpc['requestPasswordReset']>): Promise<RpcReply<Rpc['requestPasswordReset']>> {
    await this.numbers.requestPasswordReset(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.resetPassword)
  async resetPassword({ caller, code, body }: RpcData<Rpc['resetPassword']>): Promise<RpcReply<Rpc['resetPassword']>> {
    await this.numbers.resetPassword(caller, code, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.requestChange)
  async requestChange({ caller, body }: RpcData<Rpc['requestChange']>): Promise<RpcReply<Rpc['requestChange']>> {
    await this.numbers.requestChange(caller, body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.change)
  async change({ caller, body }: RpcData<Rpc['change']>): Promise<RpcReply<Rpc['change']>> {
    await this.numbers.changePhone(caller, body);
    return {};
  }
}
