import { type AppError, appError } from '#errors';
import type { DataFolder } from '../data-folder.js';

/** Replaces the secret in the data folder, in two steps that both take effect at the next start. */
export class StoredSecretsService {
  /** The secret with which this process seals; undefined if the environment sets it. */
  readonly #current: string | undefined;

  constructor(
    private readonly folder: DataFolder,
    isFromEnvironment: boolean,
  ) {
    this.#current = isFromEnvironment ? undefined : folder.secret();
  }

  /** @throws AppError NO_EFFECT if the environment sets the secret, or the previous one is not forgotten yet */
  swap(): void {
    this.assertStored();
    if (this.folder.acceptedSecrets().length > 0)
      throw refusal('The secret was swapped before: run "secrets rotate", then "secrets forget".');
    this.folder.swapSecret();
  }

  /**
   * @throws AppError NO_EFFECT if the environment sets the secret, there is none to forget, or this process still seals with
   * the one to forget: its values could never be opened again
   */
  forget(): void {
    this.assertStored();
    if (this.folder.acceptedSecrets().length === 0) throw refusal('No secret was swapped: there is none to forget.');
    if (this.folder.secret() !== this.#current)
      throw refusal('The old secret is still in use: restart the server, and run "secrets rotate" first.');
    this.folder.forgetAcceptedSecrets();
  }

  private assertStored(): void {
    if (this.#current === undefined)
      throw refusal(
        'The secret is not stored in the data folder: change GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS.',
      );
  }
}

function refusal(message: string): AppError {
  return appError('NO_EFFECT', { message });
}
