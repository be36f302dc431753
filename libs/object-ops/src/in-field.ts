import { AppError } from '#errors';

/** Lets a refusal that says nothing of where it happened name the field, as INCORRECT_TYPE does. */
export function inField<T>(field: string, decide: () => T): T {
  try {
    return decide();
  } catch (error) {
    if (!(error instanceof AppError && error.is('INCORRECT_TYPE'))) throw error;
    throw new AppError(error.errorName, { message: `${field}: ${error.message}`, cause: error });
  }
}
