import { Injectable } from '@nestjs/common';
import { consoleApi } from '#console-api';
import { Handles, type ReplyOf, type RequestOf } from '../routing/console-handler.js';
import { SecondFactors } from './second-factors.js';
import { SignInService } from './sign-in.service.js';

type Factors = ReplyOf<'listMyFactors'>;
type ChangedFactors = ReplyOf<'addPasskey'>;
type Options = ReplyOf<'beginPasskey'>;

@Injectable()
export class SecondFactorsHandlers {
  constructor(
    private readonly factors: SecondFactors,
    private readonly signIn: SignInService,
  ) {}

  @Handles(consoleApi.listMyFactors)
  list({ operator }: RequestOf<'listMyFactors'>): Promise<Factors> {
    return this.#of(operator.id);
  }

  @Handles(consoleApi.beginOneTimeCodes)
  beginCodes({ operator }: RequestOf<'beginOneTimeCodes'>): Promise<ReplyOf<'beginOneTimeCodes'>> {
    return this.factors.beginCodes(operator);
  }

  @Handles(consoleApi.confirmOneTimeCodes)
  async confirmCodes({ operator, body }: RequestOf<'confirmOneTimeCodes'>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.confirmCodes(operator, body.code);
    return { ...(await this.#of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.removeOneTimeCodes)
  async removeCodes({ operator }: RequestOf<'removeOneTimeCodes'>): Promise<Factors> {
    await this.factors.remove(operator, {});
    return this.#of(operator.id);
  }

  @Handles(consoleApi.renewRecoveryCodes)
  async renewRecoveryCodes({ operator }: RequestOf<'renewRecoveryCodes'>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.renewRecoveryCodes(operator);
    return { ...(await this.#of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.beginPasskey)
  async beginPasskey({ operator }: RequestOf<'beginPasskey'>): Promise<Options> {
    return { options: { ...(await this.factors.beginPasskey(operator)) } };
  }

  @Handles(consoleApi.addPasskey)
  async addPasskey({ operator, body }: RequestOf<'addPasskey'>): Promise<ChangedFactors> {
    const newRecoveryCodes = await this.factors.addPasskey(operator, body.name, body.response);
    return { ...(await this.#of(operator.id)), newRecoveryCodes };
  }

  @Handles(consoleApi.removePasskey)
  async removePasskey({ operator, params }: RequestOf<'removePasskey'>): Promise<Factors> {
    await this.factors.remove(operator, params);
    return this.#of(operator.id);
  }

  @Handles(consoleApi.beginPasskeySignIn)
  async beginSignIn({ network }: RequestOf<'beginPasskeySignIn'>): Promise<Options> {
    await this.signIn.countAnonymousAct(network, consoleApi.beginPasskeySignIn.path);
    return { options: { ...(await this.factors.beginProof(null)) } };
  }

  @Handles(consoleApi.beginPasskeyProof)
  async beginProof({ operator }: RequestOf<'beginPasskeyProof'>): Promise<Options> {
    return { options: { ...(await this.factors.beginProof(operator.id)) } };
  }

  async #of(operatorId: string): Promise<Factors> {
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
