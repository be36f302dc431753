import { Injectable } from '@nestjs/common';
import { consoleApi, type RouteReply } from '#console-api';
import { type ConsoleRequest, Handles } from '../routing/console-handler.js';
import { SecondFactors } from './second-factors.js';
import { SignInService } from './sign-in.service.js';

type Api = typeof consoleApi;
type Factors = RouteReply<Api['listMyFactors']>;
type ChangedFactors = RouteReply<Api['addPasskey']>;
type Options = RouteReply<Api['beginPasskey']>;

@Injectable()
export class SecondFactorsHandlers {
  constructor(
    private readonly factors: SecondFactors,
    private readonly signIn: SignInService,
  ) {}

  @Handles(consoleApi.listMyFactors)
  list({ operator }: ConsoleRequest<Api['listMyFactors']>): Promise<Factors> {
    return this.of(operator.id);
  }

  @Handles(consoleApi.beginOneTimeCodes)
  beginCodes({ operator }: ConsoleRequest<Api['beginOneTimeCodes']>): Promise<RouteReply<Api['beginOneTimeCodes']>> {
    return this.factors.beginCodes(operator);
  }

  @Handles(consoleApi.confirmOneTimeCodes)
  async confirmCodes({ operator, body }: ConsoleRequest<Api['confirmOneTimeCodes']>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.confirmCodes(operator, body.code);
    return { ...(await this.of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.removeOneTimeCodes)
  async removeCodes({ operator }: ConsoleRequest<Api['removeOneTimeCodes']>): Promise<Factors> {
    await this.factors.remove(operator, {});
    return this.of(operator.id);
  }

  @Handles(consoleApi.renewRecoveryCodes)
  async renewRecoveryCodes({ operator }: ConsoleRequest<Api['renewRecoveryCodes']>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.renewRecoveryCodes(operator);
    return { ...(await this.of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.beginPasskey)
  async beginPasskey({ operator }: ConsoleRequest<Api['beginPasskey']>): Promise<Options> {
    return { options: { ...(await this.factors.beginPasskey(operator)) } };
  }

  @Handles(consoleApi.addPasskey)
  async addPasskey({ operator, body }: ConsoleRequest<Api['addPasskey']>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.addPasskey(operator, body.name, body.response);
    return { ...(await this.of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.removePasskey)
  async removePasskey({ operator, params }: ConsoleRequest<Api['removePasskey']>): Promise<Factors> {
    await this.factors.remove(operator, params);
    return this.of(operator.id);
  }

  @Handles(consoleApi.beginPasskeySignIn)
  async beginSignIn({ network }: ConsoleRequest<Api['beginPasskeySignIn']>): Promise<Options> {
    await this.signIn.countAnonymousAct(network, consoleApi.beginPasskeySignIn.path);
    return { options: { ...(await this.factors.beginProof(null)) } };
  }

  @Handles(consoleApi.beginPasskeyProof)
  async beginProof({ operator }: ConsoleRequest<Api['beginPasskeyProof']>): Promise<Options> {
    return { options: { ...(await this.factors.beginProof(operator.id)) } };
  }

  private async of(operatorId: string): Promise<Factors> {
    const { passkeys, ...factors } = await this.factors.list(operatorId);
    return {
      ...factors,
      passkeys: passkeys.map(({ createdAt, lastUsedAt, ...passkey }) => ({
        ...passkey,
        createdAt: createdAt.toISOString(),
        lastUsedAt: lastUsedAt?.toISOString() ?? null,
      })),
    };
  }
}
