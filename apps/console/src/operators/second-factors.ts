import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { Secret, TOTP } from 'otpauth';
import { Clock } from '#bootstrap';
import { AppError, appError } from '#errors';
import { Sealer } from '#security';
import { CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from '../console.config.js';
import { hasPowers } from './operator.rules.js';
import { type FactorOwner, type FactorsRow, SecondFactorsRepository } from './second-factors.repository.js';

const ISSUER = 'Gatepost console';
const STEP_SECONDS = 30;
/** Codes of neighbouring time steps count, because clocks differ. */
const WINDOW = 1;
const SECRET_BYTES = 20;
const CODE = /^\d{6}$/;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;
/** Loaded for the first passkey: a tenth of the modules of a process. */
const webAuthn = () => import('@simplewebauthn/server');

export const codesContext = (operatorId: string): string => `one-time codes of operator ${operatorId}`;

interface FactorOperator extends FactorOwner {
  readonly name: string;
  readonly address: string;
}

/** One-time codes (RFC 6238), recovery codes, and passkeys (WebAuthn) of operators. */
@Injectable()
export class SecondFactors {
  constructor(
    private readonly repository: SecondFactorsRepository,
    private readonly sealer: Sealer,
    private readonly url: PublicUrl,
    private readonly clock: Clock,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {}

  list(operatorId: string): Promise<FactorsRow> {
    return this.repository.list(operatorId);
  }

  /** A one-time code or a recovery code. @returns false if it is wrong, or was used */
  async useCode(operatorId: string, text: string): Promise<boolean> {
    const code = plain(text);
    if (!CODE.test(code)) return this.repository.useRecoveryCode(operatorId, code);
    const sealed = await this.repository.sealedSecret(operatorId, true);
    const step = sealed === undefined ? undefined : this.#stepOf(operatorId, sealed, code);
    return step !== undefined && this.repository.useStep(operatorId, step);
  }

  /** Codes in use stay until a first new one is confirmed. @returns the secret in base32, and the URI that authenticators read */
  async beginCodes(owner: FactorOperator): Promise<{ secret: string; uri: string }> {
    const secret = new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32;
    await this.repository.beginCodes(owner, this.sealer.seal(secret, codesContext(owner.id)));
    return { secret, uri: new TOTP({ issuer: ISSUER, label: owner.address, secret }).toString() };
  }

  /** @returns recovery codes for an operator who had none, else null @throws AppError UNAUTHORIZED, SECOND_FACTOR_MISMATCH, NOT_FOUND */
  async confirmCodes(owner: FactorOwner, code: string): Promise<string[] | null> {
    const sealedSecret = await this.repository.sealedSecret(owner.id, false);
    if (sealedSecret === undefined) throw appError('NOT_FOUND', { message: 'Begin with new one-time codes.' });
    const step = this.#stepOf(owner.id, sealedSecret, code);
    if (step === undefined) throw appError('SECOND_FACTOR_MISMATCH');
    const codes = newRecoveryCodes();
    return (await this.repository.confirmCodes(owner, { sealedSecret, step }, codes.map(plain))) ? codes : null;
  }

  /** Earlier ones end. @throws AppError UNAUTHORIZED, or NO_EFFECT without a second factor */
  async renewRecoveryCodes(owner: FactorOwner): Promise<string[]> {
    const codes = newRecoveryCodes();
    await this.repository.setRecoveryCodes(owner, codes.map(plain));
    return codes;
  }

  remove(owner: FactorOwner & Parameters<typeof hasPowers>[0], which: { readonly passkeyId?: string }): Promise<void> {
    return this.repository.remove(owner, which, this.config.secondFactor === 'required' && hasPowers(owner));
  }

  async beginPasskey({ id, name, address }: FactorOperator): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { passkeys } = await this.repository.list(id);
    const { generateRegistrationOptions } = await webAuthn();
    const options = await generateRegistrationOptions({
      rpName: ISSUER,
      rpID: this.#rpId,
      userID: Uint8Array.from(Buffer.from(id)),
      userName: address,
      userDisplayName: name,
      excludeCredentials: passkeys.map((passkey) => ({ id: passkey.id })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    await this.repository.addChallenge(options.challenge, id);
    return options;
  }

  /** @returns recovery codes for an operator without any, else null @throws AppError UNAUTHORIZED, SECOND_FACTOR_MISMATCH, NO_EFFECT */
  async addPasskey(owner: FactorOwner, name: string, response: object): Promise<string[] | null> {
    const { verifyRegistrationResponse } = await webAuthn();
    const { registrationInfo } = await verified(
      verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: (challenge) => this.repository.useChallenge(challenge, owner.id),
        ...this.#expected(),
      }),
    );
    if (registrationInfo === undefined) throw appError('SECOND_FACTOR_MISMATCH');
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    const codes = newRecoveryCodes();
    const passkey = { id, name, publicKey: Buffer.from(publicKey), counter, transports };
    return (await this.repository.addPasskey(owner, passkey, codes.map(plain))) ? codes : null;
  }

  /** @param operatorId whose passkeys the browser may use; null: all that it has for the console */
  async beginProof(operatorId: string | null): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const passkeys = operatorId === null ? [] : (await this.repository.list(operatorId)).passkeys;
    const { generateAuthenticationOptions } = await webAuthn();
    const options = await generateAuthenticationOptions({
      rpID: this.#rpId,
      userVerification: 'required',
      allowCredentials: passkeys.map(({ id }) => ({ id })),
    });
    await this.repository.addChallenge(options.challenge, operatorId);
    return options;
  }

  /** @param operatorId whose passkey it must be; null: any operator's, for a sign-in @throws AppError SECOND_FACTOR_MISMATCH */
  async usePasskey(operatorId: string | null, response: object): Promise<{ id: string; passwordHash: string }> {
    const given = response as AuthenticationResponseJSON;
    const passkey = typeof given.id === 'string' ? await this.repository.passkey(given.id) : undefined;
    const isExpected = operatorId === null || passkey?.operatorId === operatorId;
    if (passkey === undefined || !isExpected) throw appError('SECOND_FACTOR_MISMATCH');
    const { verifyAuthenticationResponse } = await webAuthn();
    const { authenticationInfo } = await verified(
      verifyAuthenticationResponse({
        response: given,
        expectedChallenge: (challenge) => this.repository.useChallenge(challenge, operatorId),
        credential: { ...passkey, publicKey: Uint8Array.from(passkey.publicKey) },
        ...this.#expected(),
      }),
    );
    const operator = await this.repository.usePasskey(passkey.id, authenticationInfo.newCounter);
    if (operator === undefined) throw appError('SECOND_FACTOR_MISMATCH');
    return operator;
  }

  async hasPasskey(id: string): Promise<boolean> {
    return (await this.repository.passkey(id)) !== undefined;
  }

  get #rpId(): string {
    return new URL(this.url.origin).hostname;
  }

  #expected() {
    return { expectedOrigin: [...this.url.origins], expectedRPID: this.#rpId, requireUserVerification: true };
  }

  #stepOf(operatorId: string, sealedSecret: string, token: string): number | undefined {
    const secret = this.sealer.open(sealedSecret, codesContext(operatorId));
    const timestamp = this.clock.now().getTime();
    const delta = new TOTP({ secret }).validate({ token, timestamp, window: WINDOW });
    return delta === null ? undefined : Math.floor(timestamp / 1_000 / STEP_SECONDS) + delta;
  }
}

async function verified<T extends { readonly verified: boolean }>(check: Promise<T>): Promise<T> {
  const result = await check.catch((error: unknown) => {
    if (error instanceof AppError) throw error;
    return undefined;
  });
  if (result?.verified !== true) throw appError('SECOND_FACTOR_MISMATCH');
  return result;
}

/** Ten codes of 80 random bits in base32, in groups of four. */
function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const { base32 } = new Secret({ buffer: Uint8Array.from(randomBytes(RECOVERY_CODE_BYTES)).buffer });
    return base32.toLowerCase().replaceAll(/(.{4})(?=.)/g, '$1-');
  });
}

function plain(code: string): string {
  return code.replaceAll(/[\s-]/g, '').toLowerCase();
}
