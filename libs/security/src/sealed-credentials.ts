import type { SplitCredentials } from '#contracts';
import { appError, messageOf } from '#errors';
import type { Sealer } from './sealer.js';

type Secrets = SplitCredentials['secrets'];

/** A row of stored credentials. */
type CredentialsRow<Key> = Key & {
  /** The fields that are not secret. */
  readonly shown: SplitCredentials['shown'];
  /** The sealed JSON of the secret fields. */
  readonly sealedSecrets: string;
};

/** How texts identify stored credentials. */
interface CredentialNames<Key> {
  /** The sealing context of their secrets. */
  readonly context: (key: Key) => string;
  /** Their name in logs: `credentials of application <id> for <platform>`. */
  readonly title: (key: Key) => string;
}

/** Seals the secret fields of stored credentials, and opens them for as long as a caller uses them. @template Key the columns that name a row */
export class SealedCredentials<Key> {
  constructor(
    private readonly sealer: Sealer,
    private readonly names: CredentialNames<Key>,
  ) {}

  seal(key: Key, secrets: Secrets): string {
    return this.sealer.seal(JSON.stringify(secrets), this.names.context(key));
  }

  /**
   * @param make joins the fields, or picks from them
   * @throws Error, which names the credentials and the reason, never a value
   */
  open<T>(row: CredentialsRow<Key>, make: (credentials: SplitCredentials) => T): T {
    try {
      return make({ shown: row.shown, secrets: this.#secretsOf(row) });
    } catch (cause) {
      throw new Error(`the ${this.names.title(row)} cannot be used: ${messageOf(cause)}`, { cause });
    }
  }

  /** As `open`, for a caller that waits. @throws AppError SERVICE_UNAVAILABLE; for the log, its cause is the error of `open` */
  openOrFail<T>(row: CredentialsRow<Key>, make: (credentials: SplitCredentials) => T): T {
    try {
      return this.open(row, make);
    } catch (cause) {
      throw appError('SERVICE_UNAVAILABLE', { cause });
    }
  }

  /** The fields that operators see, and the names of the secret ones. @throws AppError SERVICE_UNAVAILABLE as `openOrFail` */
  show(row: CredentialsRow<Key>): { shown: Record<string, string>; secrets: string[] } {
    return this.openOrFail(row, ({ shown, secrets }) => ({ shown: { ...shown }, secrets: Object.keys(secrets) }));
  }

  /** @param row any stored row @throws Error if it was sealed with another secret: then no credentials can be used */
  assertSecretFits(row: CredentialsRow<Key> | undefined): void {
    if (row !== undefined) this.#secretsOf(row);
  }

  #secretsOf(row: CredentialsRow<Key>): Secrets {
    return JSON.parse(this.sealer.open(row.sealedSecrets, this.names.context(row))) as Secrets;
  }
}
