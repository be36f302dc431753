import { type AppError, appError } from '#errors';
import type { DataFolder } from '../data-folder.js';

/** Replaces the secret in the data folder, in two steps that both count from the next start on. */
export class KeptSecretsService {
  constructor(
    private readonly folder: DataFolder,
    private readonly isGiven: boolean,
  ) {}

  /** @throws AppError NO_EFFECT where the environment gives the secret, or the last one is not forgotten yet */
  swap(): void {
    this.assertKept();
    if (this.folder.acceptedSecrets().length > 0)
      throw refusal('The secret was swapped before: run "secrets rotate", then "secrets forget".');
    this.folder.swapSecret();
  }

  /** @throws AppError NO_EFFECT where the environment gives the secret, or there is none to forget */
  forget(): void {
    this.assertKept();
    if (this.folder.acceptedSecrets().length === 0) throw refusal('No secret was swapped: there is none to forget.');
    this.folder.forgetAcceptedSecrets();
  }

  private assertKept(): void {
    if (this.isGiven)
      throw refusal('The secret is not kept in the data folder: change GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS.');
  }
}

function refusal(message: string): AppError {
  return appError('NO_EFFECT', { message });
}
