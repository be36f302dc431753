import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Clock } from '#bootstrap';
import type { VendorCredentials } from '#contracts';

const RENEWED_AT = 0.8;

export interface AccessToken {
  readonly token: string;
  readonly seconds: number;
}

interface SignIn {
  readonly signIn: Promise<AccessToken>;
  token?: string;
  until: number;
}

/** Concurrent requests share one sign-in; a failed one is not kept. */
export class AccessTokens {
  #current: SignIn | undefined;

  constructor(private readonly signIn: () => Promise<AccessToken>) {}

  async get(): Promise<string> {
    if (this.#current === undefined || performance.now() >= this.#current.until) this.#current = this.#begin();
    return (await this.#current.signIn).token;
  }

  /** Another token, and a sign-in in progress, stay. */
  forget(refused: string): void {
    if (this.#current?.token === refused) this.#current = undefined;
  }

  #begin(): SignIn {
    const current: SignIn = { signIn: this.signIn(), until: Infinity };
    current.signIn.then(
      ({ token, seconds }) => {
        current.token = token;
        current.until = performance.now() + RENEWED_AT * 1_000 * seconds;
      },
      () => {
        if (this.#current === current) this.#current = undefined;
      },
    );
    return current;
  }
}

/** Apple accepts a token for 60 minutes, and a new one each 20 minutes. Ages count from the time in the token, whatever the clock. */
const TOKEN_LIFE_MS = 40 * 60_000;
const MIN_TOKEN_AGE_MS = 20 * 60_000;

export class ProviderToken {
  #current: { readonly signed: Promise<string>; readonly issuedAt: Date } | undefined;

  constructor(
    private readonly credentials: Pick<VendorCredentials<'apns'>, 'teamId' | 'keyId' | 'privateKey'>,
    private readonly clock: Clock,
  ) {}

  get(): Promise<string> {
    if (this.#current === undefined || this.#ageMs(this.#current) > TOKEN_LIFE_MS) {
      const issuedAt = this.clock.now();
      this.#current = { signed: this.#sign(issuedAt), issuedAt };
    }
    return this.#current.signed;
  }

  /** @returns false if the refused token is too young to be replaced */
  async renew(refused: string): Promise<boolean> {
    const current = this.#current;
    if (current === undefined || (await current.signed) !== refused) return true;
    if (this.#ageMs(current) < MIN_TOKEN_AGE_MS) return false;
    if (this.#current === current) this.#current = undefined;
    return true;
  }

  #ageMs({ issuedAt }: { readonly issuedAt: Date }): number {
    return Math.abs(this.clock.now().getTime() - issuedAt.getTime());
  }

  async #sign(issuedAt: Date): Promise<string> {
    const { teamId, keyId, privateKey } = this.credentials;
    const key = createPrivateKey(privateKey);
    const protectedHeader = { alg: 'ES256', kid: keyId };
    return new SignJWT({}).setProtectedHeader(protectedHeader).setIssuer(teamId).setIssuedAt(issuedAt).sign(key);
  }
}
