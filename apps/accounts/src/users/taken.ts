import { violatedUniqueConstraint } from '#database';
import { appError, type ErrorName } from '#errors';

/** What one user alone can have, by the constraint that sees to it. */
const UNIQUE_ERRORS: Readonly<Record<string, ErrorName>> = {
  users_username_key: 'USERNAME_TAKEN',
  users_email_key: 'EMAIL_TAKEN',
  users_mobile_phone_number_key: 'PHONE_TAKEN',
  identities_pkey: 'IDENTITY_TAKEN',
};

/** @throws AppError USERNAME_TAKEN, EMAIL_TAKEN, PHONE_TAKEN or IDENTITY_TAKEN where the write failed because another user has it */
export async function mapTaken(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    const constraint = violatedUniqueConstraint(error);
    const name = constraint === undefined ? undefined : UNIQUE_ERRORS[constraint];
    throw name === undefined ? error : appError(name);
  }
}
