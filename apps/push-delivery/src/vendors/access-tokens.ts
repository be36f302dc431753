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

  /** @throws the error of the sign-in */
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
