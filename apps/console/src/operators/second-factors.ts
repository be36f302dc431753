import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { Secret, TOTP } from 'otpauth';
import { Clock } from '#bootstrap';
import { AppError, appError } from '#errors';
import { Sealer } from '#security';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';
import { PublicUrl } from './public-url.js';
import { type FactorsRow, SecondFactorsRepository, type StoredPasskey } from './second-factors.repository.js';

/** The name that authenticators show. */
const ISSUER = 'Gatepost console';
const STEP_SECONDS = 30;
/** Codes of the neighbouring time steps count, because clocks differ. */
const WINDOW = 1;
const SECRET_BYTES = 20;
const CODE = /^\d{6}$/;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;

/** The context of the sealed secret of an operator's one-time codes. */
export const codesContext = (operatorId: string): string => `one-time codes of operator ${operatorId}`;

interface Person {
  readonly id: string;
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

  /** Uses a one-time code or a recovery code. @returns false where it is wrong, or was used */
  async useCode(operatorId: string, text: string): Promise<boolean> {
    const code = text.replaceAll(/[\s-]/g, '').toLowerCase();
    if (!CODE.test(code)) return this.repository.useRecoveryCode(operatorId, code);
    const stored = await this.repository.codes(operatorId);
    if (stored?.isConfirmed !== true) return false;
    const step = this.#stepOf(this.sealer.open(stored.sealedSecret, codesContext(operatorId)), code);
    return step !== undefined && this.repository.useStep(operatorId, step);
  }

  /**
   * Makes the secret of new one-time codes; they count once a first code has confirmed it.
   * @returns the secret in base32, and the URI that authenticators read @throws AppError NO_EFFECT
   */
  async beginCodes({ id, address }: Person): Promise<{ secret: string; uri: string }> {
    const secret = new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32;
    await this.repository.beginCodes(id, this.sealer.seal(secret, codesContext(id)));
    return { secret, uri: new TOTP({ issuer: ISSUER, label: address, secret }).toString() };
  }

  /** @throws AppError SECOND_FACTOR_MISMATCH for a wrong code */
  async confirmCodes(operatorId: string, code: string): Promise<void> {
    const stored = await this.repository.codes(operatorId);
    if (stored === undefined) throw appError('NOT_FOUND', { message: 'Begin with new one-time codes.' });
    const step = this.#stepOf(this.sealer.open(stored.sealedSecret, codesContext(operatorId)), code);
    if (step === undefined || !(await this.repository.confirmCodes(operatorId, stored.sealedSecret, step)))
      throw appError('SECOND_FACTOR_MISMATCH');
  }

  /** @returns ten new recovery codes; earlier ones end */
  async newRecoveryCodes(operatorId: string): Promise<string[]> {
    const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode());
    await this.repository.setRecoveryCodes(
      operatorId,
      codes.map((code) => code.replaceAll('-', '')),
    );
    return codes;
  }

  /** @throws AppError NOT_FOUND, or SECOND_FACTOR_MISSING for the last factor of an operator who needs one */
  remove(operatorId: string, which: { readonly passkeyId?: string }): Promise<void> {
    return this.repository.remove(operatorId, which, this.config.secondFactor === 'required');
  }

  /** What the browser needs to make a passkey. */
  async beginPasskey({ id, name, address }: Person): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { passkeys } = await this.repository.list(id);
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

  /** @throws AppError SECOND_FACTOR_MISMATCH, or NO_EFFECT for a passkey that is registered */
  async addPasskey(operatorId: string, name: string, response: object): Promise<void> {
    const { registrationInfo } = await verified(
      verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: (challenge) => this.repository.useChallenge(challenge, operatorId),
        ...this.#expected(),
      }),
    );
    if (registrationInfo === undefined) throw appError('SECOND_FACTOR_MISMATCH');
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    await this.repository.addPasskey({ id, operatorId, publicKey: Buffer.from(publicKey), counter, transports }, name);
  }

  /** What the browser needs to sign with a passkey. @param operatorId null: with any passkey that it has for the console */
  async beginProof(operatorId: string | null): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const passkeys = operatorId === null ? [] : (await this.repository.list(operatorId)).passkeys;
    const options = await generateAuthenticationOptions({
      rpID: this.#rpId,
      userVerification: 'required',
      allowCredentials: passkeys.map(({ id }) => ({ id })),
    });
    await this.repository.addChallenge(options.challenge, operatorId);
    return options;
  }

  /**
   * Checks what a passkey has signed.
   * @param operatorId whose passkey it must be; null: anyone's, for a sign-in
   * @returns the id of the operator @throws AppError SECOND_FACTOR_MISMATCH
   */
  async checkPasskey(operatorId: string | null, response: object): Promise<string> {
    const given = response as AuthenticationResponseJSON;
    const passkey = typeof given.id === 'string' ? await this.repository.passkey(given.id) : undefined;
    if (passkey === undefined) throw appError('SECOND_FACTOR_MISMATCH');
    if (operatorId !== null && passkey.operatorId !== operatorId) throw appError('SECOND_FACTOR_MISMATCH');
    const { authenticationInfo } = await verified(
      verifyAuthenticationResponse({
        response: given,
        expectedChallenge: (challenge) => this.repository.useChallenge(challenge, operatorId),
        credential: credentialOf(passkey),
        ...this.#expected(),
      }),
    );
    if (!(await this.repository.usePasskey(passkey.id, authenticationInfo.newCounter)))
      throw appError('SECOND_FACTOR_MISMATCH');
    return passkey.operatorId;
  }

  /** The host that passkeys are bound to. */
  get #rpId(): string {
    return new URL(this.url.origin).hostname;
  }

  #expected() {
    return { expectedOrigin: [...this.url.origins], expectedRPID: this.#rpId, requireUserVerification: true };
  }

  /** The number of the time step whose code this is. */
  #stepOf(secret: string, token: string): number | undefined {
    const timestamp = this.clock.now().getTime();
    const delta = new TOTP({ secret }).validate({ token, timestamp, window: WINDOW });
    return delta === null ? undefined : Math.floor(timestamp / 1_000 / STEP_SECONDS) + delta;
  }
}

/** @throws AppError SECOND_FACTOR_MISMATCH where the check fails, or the answer is malformed */
async function verified<T extends { readonly verified: boolean }>(check: Promise<T>): Promise<T> {
  const result = await check.catch((error: unknown) => {
    if (error instanceof AppError) throw error;
    return undefined;
  });
  if (result?.verified !== true) throw appError('SECOND_FACTOR_MISMATCH');
  return result;
}

function credentialOf({ id, publicKey, counter }: StoredPasskey) {
  return { id, publicKey: Uint8Array.from(publicKey), counter };
}

/** 80 random bits in base32, in groups of four. */
function recoveryCode(): string {
  const text = new Secret({ buffer: Uint8Array.from(randomBytes(RECOVERY_CODE_BYTES)).buffer }).base32.toLowerCase();
  return text.replaceAll(/(.{4})(?=.)/g, '$1-');
}
