import { type AppError, appError } from '#errors';
import type { DataFolder } from '../data-folder.js';

/** Replaces the secret in the data folder, in two steps that both count from the next start on. */
export class StoredSecretsService {
  /** What this process seals with; undefined where the environment gives the secret. */
  readonly #current: string | undefined;

  constructor(
    private readonly folder: DataFolder,
    isGiven: boolean,
  ) {
    this.#current = isGiven ? undefined : folder.secret();
  }

  /** @throws AppError NO_EFFECT where the environment gives the secret, or the last one is not forgotten yet */
  swap(): void {
    this.assertKept();
    if (this.folder.acceptedSecrets().length > 0)
      throw refusal('The secret was swapped before: run "secrets rotate", then "secrets forget".');
    this.folder.swapSecret();
  }

  /**
   * @throws AppError NO_EFFECT where the environment gives the secret, there is none to forget, or the one to forget is the one
   * that this process still seals with: nobody could open anything any more
   */
  forget(): void {
    this.assertKept();
    if (this.folder.acceptedSecrets().length === 0) throw refusal('No secret was swapped: there is none to forget.');
    if (this.folder.secret() !== this.#current)
      throw refusal('The old secret is still in use: restart the server, and run "secrets rotate" first.');
    this.folder.forgetAcceptedSecrets();
  }

  private assertKept(): void {
    if (this.#current === undefined)
      throw refusal('The secret is not kept in the data folder: change GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS.');
  }
}

function refusal(message: string): AppError {
  return appError('NO_EFFECT', { message });
}
