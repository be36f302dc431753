/** Tokens are renewed at this share of their life. */
const RENEWED_AT = 0.8;

/** The answer to a sign-in. */
export interface AccessToken {
  readonly token: string;
  /** Lifetime. */
  readonly seconds: number;
}

/** A sign-in, and the time until which its token is used, in `performance.now()` time. */
interface SignIn {
  readonly signIn: Promise<AccessToken>;
  until: number;
}

/** The access token of one set of credentials. Concurrent requests share one sign-in; a failed one is not kept. */
export class AccessTokens {
  #current: SignIn | undefined;

  constructor(private readonly signIn: () => Promise<AccessToken>) {}

  /** @throws the error of the sign-in */
  async get(): Promise<string> {
    if (this.#current === undefined || performance.now() >= this.#current.until) this.#current = this.#begin();
    return (await this.#current.signIn).token;
  }

  /** The vendor refuses the token. A sign-in in progress continues: it brings a new one. */
  forget(): void {
    if (this.#current?.until !== Infinity) this.#current = undefined;
  }

  #begin(): SignIn {
    const current: SignIn = { signIn: this.signIn(), until: Infinity };
    current.signIn.then(
      ({ seconds }) => {
        current.until = performance.now() + RENEWED_AT * 1_000 * seconds;
      },
      () => {
        if (this.#current === current) this.#current = undefined;
      },
    );
    return current;
  }
}
